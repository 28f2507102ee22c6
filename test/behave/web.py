#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""web.py FOLDER NAME ADDRESS - the page in a headless browser: what NAME, a function below, looks for there.

FOLDER is where the browser may keep its profile.  Each ends with: nothing went wrong in the page, nothing but
its own server was asked, no element came with a name of the program.
"""
import sys

from browser import Browser

EVIL = "</script><b id=evil>"


def rows(page, column=0, table="main table"):
    """Texts of a column of the first table that is to be seen."""
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
    # It goes on by itself, and stops when it is told to.
    first = calls()
    page.wait(f"[...document.querySelectorAll('tbody tr')].some((row) => row.cells[0].textContent === 'sell' && "
              f"Number(row.cells[1].textContent.replaceAll(',', '')) > {first})")
    page.click("#pause")
    page.wait("document.getElementById('state').textContent.startsWith('Paused')")
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


def saved(page):
    sees(page, "sell")
    assert EVIL in rows(page)
    assert dict(zip(rows(page), rows(page, 1)))["sell"] == "20"
    assert page.value("document.getElementById('state').textContent") == "Saved"
    page.click("button.open")
    page.wait("document.querySelector('.detail').textContent.includes('calls')")
    assert len(page.requests) == 1, page.requests


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
    folder, name, address = sys.argv[1:]
    with Browser(folder) as browser:
        page = browser.open(address)
        globals()[name](page)
        assert not page.faults, page.faults
        assert page.value("document.getElementById('evil')") is None
        foreign = [one for one in page.requests if not one.startswith((address, "data:"))]
        assert not foreign, foreign


main()
