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
    private func show(_ zoom: Int, in browser: WebDriver) async throws {
        let view = "location.hash = '#view=52.66000,-8.63000,\(zoom)'; return true"
        #expect(try await browser.script(view, as: Bool.self))
    }
}
