# SPDX-License-Identifier: MIT
"""browser.py - a headless Chromium, driven over the DevTools protocol by a pair of pipes.

    with Browser(folder) as browser:
        page = browser.open("http://127.0.0.1:6770/")
        page.wait("document.querySelector('tbody tr')")
        page.value("document.title")

`page.faults` has the page's errors: exceptions, errors of the console, of the network and of the
content policy. `page.requests` has the requested addresses.  Every wait is bounded by SECONDS_MAX.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import time

SECONDS_MAX = 120
OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--remote-debugging-pipe",
]


class Browser:
    def __init__(self, folder):
        """`folder` is made, and holds the browser's profile."""
        self.folder, self.number, self.pages, self.answers, self.rest = folder, 0, {}, {}, b""

    def __enter__(self):
        to_read, self.to = os.pipe()
        self.fro, to_write = os.pipe()

        def descriptors():  # the browser reads 3 and writes 4
            low = os.dup2(to_read, 20), os.dup2(to_write, 21)
            os.dup2(low[0], 3)
            os.dup2(low[1], 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium"), f"--user-data-dir={self.folder}", *OPTIONS, "about:blank"],
            preexec_fn=descriptors, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.process.wait(20)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.fro)

    # --- messages ---

    def post(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        return self.number

    def send(self, method, session=None, **params):
        """Posts, and waits for the answer."""
        number, end = self.post(method, session, **params), time.monotonic() + SECONDS_MAX
        while number not in self.answers:
            self.take(end - time.monotonic())
        answer = self.answers.pop(number)
        assert "error" not in answer, (method, params, answer["error"])
        return answer["result"]

    def take(self, seconds):
        """Takes messages that have arrived, or arrive within that time."""
        assert seconds > 0, "the browser does not answer"
        if not select.select([self.fro], [], [], seconds)[0]:
            return
        data = os.read(self.fro, 1 << 20)
        assert data, "the browser has ended"
        *messages, self.rest = (self.rest + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].hear(message["method"], message["params"])

    # --- pages ---

    def open(self, url, width=1200, height=900, scheme="light"):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(domain + ".enable")
        page.look(width, height, scheme)
        page.send("Page.navigate", url=url)
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.faults, self.requests = [], []

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def hear(self, method, params):
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.faults.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.faults.append([arg.get("value", arg.get("description")) for arg in params["args"]])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.faults.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def look(self, width, height, scheme="light"):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def value(self, expression):
        """Of JavaScript, promises waited for."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, expression):
        """Waits until the expression is true; returns its value."""
        end = time.monotonic() + SECONDS_MAX
        while True:
            value = self.value("(() => { try { const seen = %s; return seen instanceof Node || seen; }"
                               " catch { return null; } })()" % expression)
            if value:
                return value
            assert time.monotonic() < end, f"never: {expression}; {self.faults}"
            self.browser.take(0.05)

    def key(self, key, text=None):
        """Presses a key where the focus is: Tab, Enter, ArrowDown, a letter."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40, "Backspace": 8, " ": 32}
        text = "\r" if key == "Enter" else text if text else key if len(key) == 1 else ""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode=codes.get(key, ord(key[0].upper())))

    def click(self, selector):
        self.wait(f"document.querySelector({json.dumps(selector)})")
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def type(self, selector, text):
        self.value(f"(() => {{ const input = document.querySelector({json.dumps(selector)}); input.focus();"
                   f" input.select(); }})()")
        self.send("Input.insertText", text=text)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
