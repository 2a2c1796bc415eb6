# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""look_at_page.py BATCHCAST WORK [FOLDER]: starts streams, trainers and `batchcast metrics`, and compares what a
browser shows with what the command says. With FOLDER it only leaves the pictures of the docs there."""
import http.client
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

batchcast, work = os.path.abspath(sys.argv[1]), sys.argv[2]
folder = sys.argv[3] if len(sys.argv) > 3 else None
hostile = [
    "<script>document.title='broken'</script>",
    "\"'><img src=x onerror=\"document.title='broken'\">",
    "&amp;&lt;b&gt;",
    "`code` and ``",
]
# What no producer of this version says of its trainers.
more_hostile = ["ünï ☃ 漢字", "right \u202etfel", "bell \x07 escape \x1b[31m", "line\nline", "x" * 3000]
processes = []
failures = []
checks = 0


def check(holds, words):
    global checks
    checks += 1
    if not holds:
        failures.append(words)
        print("FAILED:", words, flush=True)


def until(what, holds, seconds=40):
    end = time.monotonic() + seconds
    while True:
        try:
            found = holds()
        except Exception as error:  # an element that was drawn again meanwhile
            found = None
            last = error
        if found:
            check(True, what)
            return found
        if time.monotonic() > end:
            check(False, what)
            return None
        time.sleep(0.1)


def run(*words, **more):
    process = subprocess.Popen([batchcast, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    processes.append(process)
    return process


def browser(width, height, dark=False):
    options = Options()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                 f"--window-size={width},{height}", f"--user-data-dir={work}/browser{width}{dark}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    scheme = "dark" if dark else "light"
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    made.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    resize(made, width, height)
    return made


def resize(driver, width, height):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})


def texts(driver, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
    return driver.execute_script(script, selector)


def row_count(driver):
    return len(driver.find_elements(By.CSS_SELECTOR, "tbody tr"))


def looks(driver):
    return int(driver.execute_script("return document.documentElement.dataset.looks || '0'"))


def no_errors(driver, what):
    bad = [one["message"] for one in driver.get_log("browser") if one["level"] != "INFO"]
    check(not bad, f"{what}: the console has {bad}")


def card(driver, name):
    for section in driver.find_elements(By.CSS_SELECTOR, "section"):
        if section.find_element(By.TAG_NAME, "h2").text == name:
            return section
    return None


def exporter(*words):
    process = subprocess.Popen([batchcast, "metrics", "--listen", "127.0.0.1:0", "--json", *words],
                               stdout=subprocess.PIPE, text=True)
    processes.append(process)
    return process, json.loads(process.stdout.readline())["page"]


def look_at_streams(driver, address):
    driver.get(address)
    until("the page shows streams", lambda: looks(driver) > 1 and "images" in texts(driver, "h2"))
    told = json.loads(subprocess.run([batchcast, "top", "--once", "--interval", "0.2", "--json"],
                                     stdout=subprocess.PIPE, text=True).stdout)
    names = sorted(one["name"] for one in told["streams"][0]["consumers"])
    until("all trainers are there, as top says",
          lambda: sorted(texts(driver, "tbody td:first-child > span:first-child")) == names)
    check(set(hostile) <= set(names), "hostile names are trainers' names")
    check(driver.title == "batchcast", "no name is run as a script")
    check(not driver.find_elements(By.CSS_SELECTOR, "td img, td b, td script"), "no name becomes an element")
    check(str(told["streams"][0]["pid"]) in texts(driver, ".facts")[0], "the producer's pid")
    check(texts(driver, ".state")[0] == "running", "the stream's state")
    until("what limits, in words", lambda: texts(driver, ".limit")[0])


def look_at_updates(driver):
    before = looks(driver)
    line = driver.execute_script("return document.querySelector('.line').getAttribute('d')")
    until("the page is drawn again", lambda: looks(driver) > before + 2)
    check(line != driver.execute_script("return document.querySelector('.line').getAttribute('d')"), "the chart moves")
    driver.find_element(By.TAG_NAME, "body").send_keys("p")
    paused = looks(driver)
    check(texts(driver, "#live b") == ["paused"], "p pauses")
    time.sleep(1)
    check(looks(driver) <= paused + 1, "a page that is paused asks for nothing")
    driver.find_element(By.TAG_NAME, "body").send_keys("p")
    until("p goes on", lambda: looks(driver) > paused + 1)


def look_at_keys(driver):
    body = driver.find_element(By.TAG_NAME, "body")
    body.send_keys("/")
    driver.switch_to.active_element.send_keys("plain-1")
    until("/ filters trainers", lambda: len(driver.find_elements(By.CSS_SELECTOR, "tbody tr")) == 1)
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    until("Escape shows all of them", lambda: len(driver.find_elements(By.CSS_SELECTOR, "tbody tr")) > 1)
    heads = driver.find_elements(By.CSS_SELECTOR, "th button")
    heads[0].click()
    check(driver.find_element(By.CSS_SELECTOR, "th").get_attribute("aria-sort") == "descending", "a head sorts")
    shown = texts(driver, "tbody td:first-child > span:first-child")
    check(shown == sorted(shown, reverse=True), f"names from the last to the first: {shown}")
    heads[0].send_keys(Keys.ENTER)
    check(driver.find_element(By.CSS_SELECTOR, "th").get_attribute("aria-sort") == "ascending", "Enter sorts")
    body.send_keys("t")
    check(driver.execute_script("return document.documentElement.dataset.theme") == "light", "t changes the theme")
    body.send_keys("tt")


def look_at_pictures(driver):
    check(not driver.find_elements(By.CSS_SELECTOR, "details[open]"), "no picture is taken before one looks")
    driver.find_element(By.TAG_NAME, "summary").click()
    until("a picture of samples",
          lambda: driver.execute_script("return document.querySelector('details img').naturalWidth") > 100)
    check("newest samples of stream images" in driver.find_element(By.CSS_SELECTOR, "details img").get_attribute("alt"),
          "the picture has words")
    driver.find_element(By.TAG_NAME, "summary").click()


def look_at_sizes(driver):
    for width, height in [(320, 500), (390, 844), (800, 600), (2560, 1440), (1280, 900)]:
        resize(driver, width, height)
        until(f"no line is wider than {width}",
              lambda: driver.execute_script("return document.documentElement.scrollWidth") <= width, 5)


def look_at_names_for_all(driver):
    bad = driver.execute_script("""
      const named = (e) => e.textContent.trim() || e.getAttribute('aria-label') || e.getAttribute('alt') ||
        (e.labels && e.labels.length && e.labels[0].textContent.trim());
      return [...document.querySelectorAll('button, input, [role=img], [role=region], img:not([hidden])')]
        .filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 80))""")
    check(not bad, f"all have a name for screen readers: {bad}")
    check(driver.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en", "the language is said")
    check(bool(driver.find_elements(By.CSS_SELECTOR, "[role=status][aria-live=polite]")), "changes are said")


def look_at_death(driver, producer):
    producer.send_signal(signal.SIGKILL)
    producer.wait()
    until("a dead producer is shown as such", lambda: texts(driver, ".state") == ["dead"])
    check("Its producer is dead" in texts(driver, ".limit")[0], "what its death means, in words")


def look_without_exporter(driver, process):
    process.send_signal(signal.SIGTERM)
    process.wait()
    until("an exporter that is gone is said", lambda: texts(driver, "#live b") == ["no answer"])
    driver.get_log("browser")  # a browser says there that nobody answers


def look_without_token(driver, address):
    driver.get("about:blank")
    driver.get(address.split("#")[0])
    until("without a token there is no data", lambda: texts(driver, "#live b") == ["no token"])
    check(not driver.find_elements(By.TAG_NAME, "section"), "without a token no stream is shown")
    driver.get("about:blank")
    driver.get(address[:-4] + "0000")
    until("a token of another exporter is refused", lambda: texts(driver, "#live b") == ["refused"])
    driver.get_log("browser")  # a browser says there that a request was refused


class Thousand(http.server.BaseHTTPRequestHandler):
    """The page of the exporter, with made data of a thousand trainers, one of them at fault."""

    page = b""
    policy = ""
    looks = 0

    def do_GET(self):
        is_page = self.path == "/"
        body = self.page if is_page else json.dumps(self.data()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if is_page else "application/json")
        if is_page:
            self.send_header("Content-Security-Policy", self.policy)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def data(self):
        Thousand.looks += 1
        trainers = [{"id": i, "name": f"trial-{i:04}", "placement": "host", "pid": i, "state": "running",
                     "batch_size": 32, "pace": "lockstep", "samples": 1000, "lag": i, "lag_share": i / 1000,
                     "wait_share": 0.5, "waited_for_share": 0.9 if i == 7 else 0, "rate": 100 + i,
                     **({"limits": True} if i == 7 else {})} for i in range(1000)]
        for trainer, name in zip(trainers[10:], hostile + more_hostile):
            trainer["name"] = name
        ages = [600 - 2 * i for i in range(300)]
        return {"version": "0", "time": "12:00:00", "at_s": self.looks, "history_seconds": 600, "processors": 8,
                "idle_processors": 2.1, "interval_seconds": 0.5, "streams": [{
                    "stream": "sweep", "owner": "", "state": "running", "pid": 1, "answers": True, "rate": 1234.5,
                    "epoch": 3, "samples": 10, "delivered": 10, "uptime_seconds": 4000, "processors": 8,
                    "limiter": "trainer", "limiter_text": "`trial-0007` takes 34% longer than the others",
                    "work_text": "", "sums_text": "", "saved_cpu_seconds": 60, "saved_text": "60 s", "bad_samples": 0,
                    "rings": [], "consumers_left_out": 0, "consumers": trainers,
                    "history": {"age": ages, "rate": [1000 + age % 97 for age in ages], "limiter": ["trainer"] * 300}}]}

    def log_message(self, *_):
        pass


def look_at_thousand(driver, address):
    parts = urllib.parse.urlparse(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port)
    connection.request("GET", "/")
    answer = connection.getresponse()
    Thousand.policy = answer.getheader("Content-Security-Policy")
    Thousand.page = answer.read()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Thousand)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    driver.get("about:blank")
    driver.get(f"http://127.0.0.1:{server.server_port}/#token=x")
    until("of a thousand trainers the first hundred", lambda: row_count(driver) == 100)
    check("900 more are not shown." in texts(driver, ".more")[0], "how many are not shown")
    driver.find_element(By.CSS_SELECTOR, ".more button").click()
    until("all thousand", lambda: row_count(driver) == 1000)
    check(all(name in texts(driver, "tbody td:first-child > span:first-child") for name in hostile + more_hostile),
          "any name is shown as it is")
    check(driver.execute_script("return document.documentElement.scrollWidth") <= 1280, "a long name is broken")
    took = driver.execute_async_script("""
      const done = arguments[0];
      const head = document.querySelectorAll('th button')[5];
      const before = performance.now();
      head.click();
      document.body.getBoundingClientRect();
      done(performance.now() - before);""")
    print(f"a thousand trainers are sorted and drawn in {took:.0f} ms")
    check(took < 5000, f"a thousand trainers take {took} ms")
    check(driver.title == "batchcast", "no made name is run")
    first = texts(driver, "tbody td:first-child > span:first-child")[0]
    check(first == "trial-0007", "the trainer that is waited for most comes first")
    check(texts(driver, ".limit code") == ["trial-0007"], "a name between backquotes is set apart")
    before = looks(driver)
    until("it goes on", lambda: looks(driver) > before + 2)
    no_errors(driver, "a thousand trainers")
    server.shutdown()


def slowed(process, seconds):
    """Lets it run for a part of the time only, as a trainer does that computes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        process.send_signal(signal.SIGCONT)
        time.sleep(0.02)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
    process.send_signal(signal.SIGCONT)


def take_pictures():
    """Those of the docs, of streams as users have them."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs"))
    import photograph
    from PIL import Image

    os.environ["BATCHCAST_DIR"] = os.path.join(work, "scene")
    images = os.path.join(work, "photographs")
    photograph.write_dataset(images)
    run("serve", f"imagefolder:{images}", "--recipe", "imagenet-train", "--stream", "imagenet", "--memory", "256MiB")
    run("serve", "synthetic:1x28x28", "--dtype", "u8", "--stream", "mnist", "--memory", "4MiB", "--workers", "1")
    for stream in ("imagenet", "mnist"):
        until(f"{stream} is served",
              lambda: subprocess.run([batchcast, "ls", stream], capture_output=True).returncode == 0)
    for name in ("lr-0.1", "lr-0.3", "lr-1.0"):
        run("consume", "imagenet", "--name", name, "--batch-size", "64")
    run("consume", "mnist", "--name", "probe", "--batch-size", "128")
    slow = run("consume", "mnist", "--name", "baseline", "--batch-size", "128")
    _, address = exporter("--interval", "0.5")
    slowed(slow, 60)
    threading.Thread(target=slowed, args=(slow, 90), daemon=True).start()
    os.makedirs(folder, exist_ok=True)
    for name, width, height, dark in [("page", 1100, 780, False), ("page_dark", 1100, 780, True),
                                      ("page_phone", 390, 700, False)]:
        driver = browser(width, height, dark)
        driver.get(address)
        until("the page is drawn", lambda: looks(driver) > 4)
        if width > 600:
            card(driver, "imagenet").find_element(By.TAG_NAME, "summary").click()
            width_of = "return document.querySelector('details[open] img').naturalWidth"
            until("pictures", lambda: driver.execute_script(width_of) > 100)
        place = os.path.join(folder, name + ".png")
        driver.save_screenshot(place)
        Image.open(place).convert("RGB").quantize(255, dither=Image.Dither.NONE).save(place, optimize=True)
        driver.quit()


def all_of_it():
    producer = run("serve", "synthetic:3x32x32", "--stream", "images", "--dtype", "u8", "--samples", "100000",
                   "--memory", "16MiB", "--workers", "1", "--epochs", "1000000")
    for name in ["plain-1", "plain-2", *hostile]:
        run("consume", "images", "--name", name, "--batch-size", "32")
    until("the stream is served with its trainers", lambda: json.loads(subprocess.run(
        [batchcast, "ls", "images", "--json"], stdout=subprocess.PIPE, text=True).stdout or "{}") and all(
            name in json.dumps(json.loads(subprocess.run([batchcast, "top", "--once", "--interval", "0.1", "--json"],
                                                         stdout=subprocess.PIPE, text=True).stdout), ensure_ascii=False)
            for name in ["plain-2", hostile[-1]]))
    process, address = exporter("--interval", "0.3")
    driver = browser(1280, 900)
    look_at_streams(driver, address)
    look_at_updates(driver)
    look_at_keys(driver)
    look_at_pictures(driver)
    look_at_sizes(driver)
    look_at_names_for_all(driver)
    no_errors(driver, "streams")
    look_at_thousand(driver, address)
    look_without_token(driver, address)
    driver.get("about:blank")
    driver.get(address)
    until("the page shows streams again", lambda: card(driver, "images"))
    look_at_death(driver, producer)
    no_errors(driver, "a dead producer")
    look_without_exporter(driver, process)
    driver.quit()


try:
    take_pictures() if folder else all_of_it()
finally:
    for one in processes:
        if one.poll() is None:
            one.kill()
            one.wait()
print(f"{checks - len(failures)} of {checks} checks passed in the browser")
sys.exit(1 if failures else 0)
