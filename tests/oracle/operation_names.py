# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What torchvision's policies call operations, and what we do."""

OUR_NAMES = {
    "Identity": "identity", "ShearX": "shear_x", "ShearY": "shear_y",
    "TranslateX": "translate_x", "TranslateY": "translate_y", "Rotate": "rotate",
    "Brightness": "brightness", "Color": "color", "Contrast": "contrast",
    "Sharpness": "sharpness", "Posterize": "posterize", "Solarize": "solarize",
    "AutoContrast": "autocontrast", "Equalize": "equalize", "Invert": "invert",
}
