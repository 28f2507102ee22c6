#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""web.py FOLDER NAME ADDRESS [PID] - the page in a headless browser: what NAME, a function below, looks for there.

PID is the process that some of them end.
FOLDER is where the browser may keep its profile.  Each ends with: nothing went wrong in the page, nothing but
its own server was asked, no element came with a name of the program.
"""
import os
import signal
import sys

from browser import Browser

EVIL = "</script><b id=evil>"


def rows(page, column=0, table="main table"):
    """Texts of a column of the first visible table."""
    return page.value(f"""(() => {{
        const table = [...document.querySelectorAll("{table}")].find((one) => one.offsetParent);
        return [...table.tBodies[0].rows].filter((row) => !row.classList.contains("detail"))
            .map((row) => row.cells[{column}].textContent); }})()""")


def sees(page, text):
    page.wait("[...document.querySelectorAll('main table')].some((one) => one.offsetParent && "
              f"one.textContent.includes({text!r}))")


def functions(page):
    sees(page, "sell")
    page.wait("document.getElementById('state').textContent === 'Live'")
    assert EVIL in rows(page), rows(page)

    def calls():
        return int(dict(zip(rows(page), rows(page, 1)))["sell"].replace(",", ""))
    # It refreshes itself, and stops on request.
    first = calls()
    page.wait(f"[...document.querySelectorAll('tbody tr')].some((row) => row.cells[0].textContent === 'sell' && "
              f"Number(row.cells[1].textContent.replaceAll(',', '')) > {first})")
    page.click("#pause")
    page.wait("document.getElementById('state').textContent.startsWith('Paused')")
    asked = len(page.requests)
    page.value("new Promise((done) => setTimeout(done, 2500))")
    assert len(page.requests) == asked, page.requests[asked:]
    # By a click on a heading, by keys on it.
    page.click("thead th:first-child button")
    names = rows(page)
    assert names == sorted(names, key=str.lower) or names == page.value(
        f"{names!r}.sort((a, b) => a.localeCompare(b))"), names
    assert page.value("document.querySelector('thead th').getAttribute('aria-sort')") == "ascending"
    page.value("document.querySelector('thead th button').focus()")
    page.key("Enter")
    assert rows(page) == names[::-1]
    # A part of a name.
    page.type(".filter input", "SEL")
    page.wait("document.querySelectorAll('tbody tr').length === 1")
    assert rows(page) == ["sell"]
    page.type(".filter input", "<b id")
    page.wait("document.querySelector('tbody tr th').textContent.includes('evil')")
    # Single calls, opened by keys.
    page.type(".filter input", "sell")
    page.wait("document.querySelector('tbody tr th').textContent === 'sell'")
    page.value("document.querySelector('button.open').focus()")
    page.key("Enter")
    page.wait("document.querySelector('.detail').textContent.includes('Slowest calls')")
    assert page.value("document.querySelectorAll('.detail table.small')[0].tBodies[0].rows.length") > 1
    assert page.value("document.querySelector('button.open').getAttribute('aria-expanded')") == "true"
    page.key("Enter")
    page.wait("!document.querySelector('.detail')")
    # What they allocate.
    page.click("#pause")
    page.click("button[data-mode=alloc]")
    sees(page, "keep")


def go(page, view):
    """By the tabs, as people do."""
    page.click(f"nav a[data-view={view}]")
    page.wait(f"!document.getElementById('view-{view}').hidden")
    assert page.value("document.querySelectorAll('nav [aria-current]').length") == 1
    assert page.value("[...document.querySelectorAll('.view')].filter((one) => !one.hidden).length") == 1
    assert page.value("document.documentElement.scrollWidth <= window.innerWidth"), f"{view} is wider than the page"
    # Controls and drawings have names for screen readers.
    for node in page.send("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if role in ("button", "link", "searchbox", "textbox", "image", "img", "table", "region") and not node["ignored"]:
            assert node.get("name", {}).get("value", "").strip(), (view, node)


def locks_and_channels(page):
    go(page, "locks")
    sees(page, "stock")
    graph = page.wait("document.querySelector('.graph svg').getAttribute('aria-label')")
    assert "sell waited " in graph and " for stock, held by sell" in graph, graph
    assert "stock" in page.value("[...document.querySelectorAll('.graph text')].map((one) => one.textContent)")
    waits = page.value("""[...document.querySelectorAll('#view-locks .card')].findIndex((one) =>
        one.querySelector('h2').textContent === 'Waits')""")
    page.value(f"document.querySelectorAll('#view-locks .card')[{waits}].querySelector('button.open').click()")
    page.wait("document.querySelector('#view-locks .detail').textContent.includes('Waited at')")
    go(page, "channels")
    sees(page, "pipe")
    page.click("#view-channels button.open")
    page.wait("document.querySelectorAll('#view-channels .detail table.small').length === 2")
    assert page.value("document.querySelector('#view-channels .detail table.small').tBodies[0].rows.length") > 5


def events_and_work(page):
    go(page, "async")
    captions = page.value("[...document.querySelectorAll('#view-async h2')].map((one) => one.textContent)")
    assert captions == ["Event loops", "Longest busy spans", "Pools", "Futures", "Streams", "Values"], captions
    # Three threads, which run, and the values that need no macro; an empty table says why.
    page.wait("document.querySelectorAll('#view-async .card')[3].querySelector('tbody tr')?.cells[1].textContent === 'thread'")
    page.wait("[...document.querySelectorAll('#view-async tbody th')].some((one) => one.textContent === 'resident bytes')")
    page.wait("document.querySelector('#view-async .about').textContent")


def memory(page):
    go(page, "memory")
    sees(page, "keep")
    line = page.wait("document.querySelector('#view-memory svg').getAttribute('aria-label')")
    assert "held: now" in line and "resident: now" in line, line
    page.type("#view-memory .filter input", "keep")
    page.wait("document.querySelector('#view-memory tbody th').textContent.includes('keep')")
    page.click("#view-memory tbody button.open")
    page.wait("document.querySelector('#view-memory .detail .frames').textContent.includes('sell')")


def blocks(page):
    """Sizes and lives of blocks, of the program and of one call path; and what the program maps itself."""
    go(page, "memory")
    page.wait("document.querySelectorAll('#view-memory .spread').length >= 2")
    shares = page.value("[...document.querySelectorAll('#view-memory .spread')].slice(0, 2).map((one) => "
                        "[...one.querySelectorAll('dd')].map((cell) => parseFloat(cell.textContent.slice(1))))")
    for list in shares:
        assert list and abs(sum(list) - 100) < 1 and all(0 < one <= 100 for one in list), shares
    page.type("#view-memory .filter input", "pair")
    page.click("#view-memory tbody button.open")
    sizes = page.wait("[...document.querySelectorAll('#view-memory .detail .spread')].map((one) => one.textContent).join()")
    assert "up to 64 B" in sizes or "up to 32 B" in sizes, sizes


def threads(page, is_live):
    go(page, "threads")
    sees(page, "shop")
    if is_live:
        names = rows(page, 0, "#view-threads table")
        assert {"<b id=evil>1", "clerk", "main"} <= set(names), names
    strips = page.value("document.querySelectorAll('.strip canvas').length")
    about = page.value("document.querySelector('#view-threads .about').textContent")
    assert strips or about, "neither a time line nor why there is none"
    for words in page.value("[...document.querySelectorAll('.strip canvas')].map((one) => one.getAttribute('aria-label'))"):
        assert ": " in words, words
    go(page, "bound")
    page.wait("document.querySelector('#view-bound tbody tr') || document.querySelector('#view-bound .about').textContent")


def views(page):
    go(page, "overview")
    sections = page.wait("document.querySelectorAll('.sections tr').length")
    assert sections > 15, sections
    empty = page.value("[...document.querySelectorAll('.sections tr.empty')].map((one) => one.cells[2].textContent)")
    assert empty and all(empty), empty
    page.wait("document.querySelector('.facts').textContent.includes('still running')")
    page.wait("document.querySelector('.chart svg').getAttribute('aria-label').includes('now')")
    page.click(".sections a[href='#memory']")
    page.wait("!document.getElementById('view-memory').hidden")
    memory(page)
    page.wait("document.querySelector('#view-memory .detail svg').getAttribute('aria-label').includes('held: now')")
    locks_and_channels(page)
    events_and_work(page)
    threads(page, True)
    # Narrow as a phone, and dark.
    page.look(400, 800, "dark")
    for view in ("overview", "functions", "calltree", "memory", "locks", "channels", "async", "threads", "bound"):
        go(page, view)
    assert page.value("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    # With the keyboard only: from the start of the page to the tabs, and into another view.
    page.look(1200, 900)
    page.value("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(30):
        page.key("Tab")
        if page.value("document.activeElement.dataset?.view") == "functions":
            break
    page.key("Enter")
    page.wait("!document.getElementById('view-functions').hidden")


def flame(page):
    def wide(name):
        return page.value(f"""(() => {{
            const box = [...document.querySelectorAll('.hpf-box')].find((one) => one.textContent === {name!r});
            return box ? parseFloat(box.style.width) : 0; }})()""")

    def whole():
        return page.value("Number(document.querySelector('.hpf-about').textContent.split('All: ')[1].replace(/[,.]/g, ''))")
    go(page, "calltree")
    page.wait("document.querySelectorAll('.hpf-box').length > 3")
    graphs = page.value("[...document.querySelectorAll('[data-graph]')].map((one) => one.dataset.graph)")
    assert {"time", "bytes", "left"} <= set(graphs), graphs
    page.click("[data-graph=blocks]")
    before = whole()
    # A zoom remains while figures refresh.
    page.value("[...document.querySelectorAll('.hpf-box')].find((one) => one.textContent === 'keep').click()")
    all_wide = wide("all threads")
    assert wide("keep") == all_wide
    page.wait(f"Number(document.querySelector('.hpf-about').textContent.split('All: ')[1].replace(/[,.]/g, '')) > {before}")
    assert wide("keep") == all_wide
    assert page.value("document.activeElement.textContent") == "keep"
    page.key("Escape")
    assert 0 < wide("keep") < all_wide
    page.click("[data-graph=time]")
    page.type(".hpf input[type=search]", "<b id")
    page.wait("document.querySelector('.hpf-found').textContent.includes(' found')")
    # If the program waited long, its box is too narrow to be drawn, but its row exists.
    found = page.value("""[...document.querySelectorAll('.hpf-match')].map(
        (one) => one.textContent || one.getAttribute('aria-label'))""")
    assert all(one.startswith(EVIL) for one in found), found
    assert page.value(f"[...document.querySelectorAll('.hpf td')].some((one) => one.textContent === {EVIL!r})")


def ended(page, end):
    sees(page, "sell")
    page.wait("document.getElementById('state').textContent === 'Live'")
    # The kernel was not sampled: thread activity is counted from answer to answer.
    go(page, "threads")
    page.wait("document.querySelector('#view-threads .about').textContent.includes('HOTPATH_CPU=off')")
    page.wait("[...document.querySelectorAll('.strip canvas')].some((one) => one.getAttribute('aria-label').includes('waiting'))")
    end()
    page.wait("document.getElementById('state').textContent === 'Ended'")
    assert page.value("document.getElementById('pause').hidden")
    go(page, "overview")
    page.wait("/ended|SIGTERM/.test(document.querySelector('.facts').textContent)")


def silent(page, end):
    sees(page, "sell")
    page.wait("document.getElementById('state').textContent === 'Live'")
    end()
    page.wait("document.getElementById('state').textContent.startsWith('Stale since')")
    page.wait("document.querySelector('[role=alert]').textContent.includes('No answer')")
    assert "sell" in rows(page)
    page.faults = [fault for fault in page.faults if "ERR_CONNECTION_REFUSED" not in str(fault)]


def saved(page):
    assert page.value("document.getElementById('state').textContent") == "Saved"
    go(page, "functions")
    sees(page, "sell")
    assert EVIL in rows(page)
    assert dict(zip(rows(page), rows(page, 1)))["sell"] == "20"
    page.click("#view-functions button.open")
    page.wait("document.querySelector('.detail').textContent.includes('calls')")
    page.click("button[data-mode=alloc]")
    sees(page, "keep")
    go(page, "calltree")
    page.wait("document.querySelectorAll('.hpf-box').length > 3")
    memory(page)
    go(page, "locks")
    sees(page, "stock")
    go(page, "channels")
    page.click("#view-channels button.open")
    page.wait("document.querySelectorAll('#view-channels .detail table.small').length === 2")
    threads(page, False)
    assert len(page.requests) == 1, page.requests


def names(page):
    """Long names stay distinguishable everywhere; a program without timed functions shows its other data."""
    brief = "hotpathFlame.brief"
    cache = "shop::Cache<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, int>::"
    for text, room, said in (
            (cache + "put(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)", 50,
             "shop::Cache<…>::put(std::string const&)"),
            (cache + "get() const", 60, "shop::Cache<std::string, int>::get() const"),
            (cache + "get() const", 34, "shop::Cache<…>::get() const"),
            ("std::operator<< <std::char_traits<char> >(std::ostream&, char const*)", 24, "std::operator<< <…>(…)"),
            ("a::operator->() const", 30, "a::operator->() const"),
            ("(anonymous namespace)::work(std::vector<int, long>)", 40, "(anonymous namespace)::work(…)"),
            ("shop::log(shop::Order const&) (server.cc:41)", 34, "shop::log(…) (server.cc:41)"),
            ("luaD_rawrunprotected", 12, "lua…rotected"), (EVIL, 60, EVIL),
            ("inner ← middle ← outer", 12, "inner ← middle ← outer")):
        assert page.value(f"{brief}({text!r}, {room})") == said, (text, room, page.value(f"{brief}({text!r}, {room})"))
    for wide in (1200, 400):
        page.send("Emulation.setDeviceMetricsOverride", width=wide, height=850, deviceScaleFactor=1, mobile=False)
        go(page, "functions")
        page.wait("document.querySelector('[data-mode=alloc]').getAttribute('aria-pressed') === 'true'")
        page.wait("""(() => {
            const texts = [...document.querySelectorAll('#view-functions tbody th :is(button, span)')]
                .filter((one) => /Store</.test(one.title)).map((one) => one.textContent);
            return texts.length === 2 && texts.every((text) => text.length < 70) &&
                texts.some((text) => /put[(]/.test(text)) && texts.some((text) => /get[(]/.test(text)); })()""")
    go(page, "calltree")
    page.wait("document.querySelector('.hpf td button').title")


def token(page):
    page.wait("document.querySelector('dialog[open] input')")
    assert page.value("document.querySelectorAll('main table tbody tr').length") == 0
    page.type("dialog input", "wrong")
    page.key("Enter")
    page.wait("document.querySelector('dialog[open]').textContent.includes('not the right one')")
    page.type("dialog input", "s3cret")
    page.key("Enter")
    sees(page, "sell")
    assert page.value("sessionStorage.length") == 1 and not page.value("document.cookie")
    page.faults = [fault for fault in page.faults if "401" not in str(fault)]
    assert not any("s3cret" in address for address in page.requests)


def main():
    folder, name, address, *pid = sys.argv[1:]
    with Browser(folder) as browser:
        page = browser.open(address + ("#functions" if name in ("functions", "token", "ended", "silent") else ""))
        page.wait("document.querySelector('.card, dialog')")
        try:
            globals()[name](page, *[lambda one=one: os.kill(int(one), signal.SIGTERM) for one in pid])
        except AssertionError:
            print(page.value("document.body.innerText"), file=sys.stderr)
            raise
        assert not page.faults, page.faults
        assert page.value("document.getElementById('evil')") is None
        foreign = [one for one in page.requests if not one.startswith((address, "data:"))]
        assert not foreign, foreign


main()
