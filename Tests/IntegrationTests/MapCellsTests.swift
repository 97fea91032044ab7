import Foundation
import TestSupport
import Testing

/// The map of many trackables: counts of cells, and markers when the map is near enough.
@Suite(.serialized, .timeLimit(.minutes(5))) struct MapCellsTests {
    private let rows = "document.querySelectorAll('#list [role=option]').length"
    private let count = "Number(document.querySelector('#count').textContent)"
    /// The zoom of the map in the address; 0 without one.
    private let zoom =
        "Number((decodeURIComponent(location.hash).match(/view=[-0-9.]+,[-0-9.]+,([0-9.]+)/) ?? [])[1] ?? 0)"

    @Test func manyTrackablesAreCountedUntilTheMapIsNear() async throws {
        let stage = try await MapStage()
        let swarm = try await Swarm.start(2_000, on: stage.broker, every: 2)
        let browser = try await WebDriver.start(width: 1440, height: 900)
        try await stage.signIn(browser)
        try await browser.wait(for: "counts", until: "\(self.count) > 1500 && \(self.rows) === 0")
        try await browser.wait(
            for: "the advice", until: "document.querySelector('#guide').textContent.includes('Zoom in')")
        try await self.show(10, in: browser)
        try await browser.wait(for: "all", until: "\(self.count) === 2000 && \(self.rows) === 0")
        try await stage.keep(try await browser.screenshot(), "cells-desk")
        // The circle of a cell with 230 trackables covers the middle.
        // A click before the counts of this view arrived hits nothing. Clicks within half a second would be a double click.
        try await waitUntil {
            if try await browser.script("return \(self.zoom) > 10", as: Bool.self) { return true }
            try await browser.click(browser.middle(of: "#map"))
            try await Task.sleep(for: .seconds(1))
            return false
        }
        try await self.show(15, in: browser)
        try await browser.wait(
            for: "the trackables in view", until: "\(self.rows) > 0 && \(self.count) > 0 && \(self.count) < 1500")
        try await stage.keep(try await browser.screenshot(), "cells-near")
        try await browser.click("#fit")
        try await browser.wait(for: "the counts again", until: "\(self.count) === 2000 && \(self.rows) === 0")
        withExtendedLifetime(swarm) {}
    }

    /// A desk on which the map shows the counts of 2,000 trackables. One of them has the name Rosie and a group.
    private func crowd(_ stage: MapStage) async throws -> (Swarm, WebDriver) {
        let swarm = try await Swarm.start(2_000, on: stage.broker, every: 2)
        _ = try await stage.run(["trackables", "set", "t1999", "name=Rosie", "group=night"])
        let browser = try await WebDriver.start(width: 1440, height: 900)
        try await stage.signIn(browser)
        // The page may have fitted the map to the trackables that the gateway had received before the others.
        try await waitUntil {
            if try await browser.script("return \(self.count) === 2000 && \(self.rows) === 0", as: Bool.self) {
                return true
            }
            try await browser.click("#fit")
            try await Task.sleep(for: .seconds(1))
            return false
        }
        return (swarm, browser)
    }

    @Test func theSearchAndTheGroupsFindTrackablesOfTheWholeFleet() async throws {
        let stage = try await MapStage()
        let (swarm, browser) = try await self.crowd(stage)
        let found = "document.querySelector('#count').textContent"
        let guide = "document.querySelector('#guide').textContent"
        try await browser.wait(for: "what is searched", until: "\(guide).includes('names, ids and groups')")
        try await browser.type("rosie", into: "#search")
        try await browser.wait(for: "the match", until: "\(found) === '1 of 2000' && \(self.rows) === 1")
        try await stage.keep(try await browser.screenshot(), "cells-search")
        try await browser.click("#list [data-id=t1999]")
        try await browser.wait(for: "a near map", until: "\(self.zoom) >= 16")
        #expect(try await browser.script("return document.querySelector('#panel-name').textContent") == "Rosie")
        try await browser.click("#close")
        try await self.show(6, in: browser)
        try await browser.wait(for: "the wide map", until: "\(self.zoom) === 6")
        try await self.search("t1998", in: browser)
        try await browser.wait(for: "another match", until: "\(found) === '1 of 2000' && \(self.rows) === 1")
        try await browser.click("#fit")
        try await browser.wait(for: "the place of the match", until: "\(self.zoom) >= 14")
        try await self.search("t1", in: browser)
        try await browser.wait(for: "the number of all matches", until: "\(guide).startsWith('1,111 trackables match')")
        try await browser.wait(for: "the first ones", until: "\(found) === '200 of 2000' && \(self.rows) > 0")
        try await self.search("zzz", in: browser)
        try await browser.wait(
            for: "what was searched", until: "\(guide).includes('all 2,000 trackables were searched')")
        try await stage.keep(try await browser.screenshot(), "cells-no-match")
        try await browser.click("#guide button")
        // The page may write its own view into the address at the same moment.
        try await waitUntil {
            try await self.show(6, in: browser)
            try await Task.sleep(for: .seconds(1))
            return try await browser.script("return \(self.count) === 2000 && \(self.rows) === 0", as: Bool.self)
        }
        try await browser.click("#chips [data-value=night]")
        try await browser.wait(for: "the group", until: "\(found) === '1 of 2000' && \(self.rows) === 1")
        withExtendedLifetime(swarm) {}
    }

    @Test func anAddressShowsATrackableOfALargeFleet() async throws {
        let stage = try await MapStage()
        let (swarm, browser) = try await self.crowd(stage)
        _ = try await browser.script("location.hash = '#trackable=t1999'; return true", as: Bool.self)
        let name = "!document.querySelector('#panel').hidden && document.querySelector('#panel-name').textContent"
        try await browser.wait(for: "its panel", until: "\(name) === 'Rosie'")
        try await browser.wait(for: "its place", until: "\(self.zoom) >= 16")
        // The same at the start of the page.
        try await browser.open("about:blank")
        try await browser.open(stage.url + "#trackable=t1998")
        try await browser.wait(for: "its panel", until: "\(name) === 't1998'")
        try await browser.wait(for: "its place", until: "\(self.zoom) >= 16")
        try await browser.open("about:blank")
        try await browser.open(stage.url + "#trackable=van-404")
        try await browser.wait(
            for: "that it is unknown",
            until: "document.querySelector('#notice').innerText.includes('knows no trackable “van-404”')")
        withExtendedLifetime(swarm) {}
    }

    private func search(_ text: String, in browser: WebDriver) async throws {
        let isTyped = try await browser.script(
            "const s = document.querySelector('#search'); s.value = '\(text)'; s.dispatchEvent(new Event('input')); return true",
            as: Bool.self)
        #expect(isTyped)
    }

    private func show(_ zoom: Int, in browser: WebDriver) async throws {
        let view = "location.hash = '#view=52.66000,-8.63000,\(zoom)'; return true"
        #expect(try await browser.script(view, as: Bool.self))
    }
}
