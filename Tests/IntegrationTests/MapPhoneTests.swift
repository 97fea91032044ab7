import Foundation
import TestSupport
import Testing

/// The map on a phone of 390 × 844 pixels: the sheet, its targets, and taps. Screenshots are saved in
/// `.build/screenshots`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MapPhoneTests {
    private let stop = "document.querySelector('#sheet').dataset.stop"
    private let panel = "!document.querySelector('#panel').hidden"

    /// A signed-in phone with three trackables in the list.
    private func phone(_ stage: MapStage) async throws -> WebDriver {
        for (index, id) in ["a", "b", "c", "d"].enumerated() {
            try await stage.publish(id, 52.66 + Double(index) / 100, -8.63)
        }
        let browser = try await WebDriver.start(width: 390, height: 844, isPhone: true)
        try await stage.signIn(browser)
        try await browser.wait(for: "all", until: "document.querySelectorAll('#list [role=option]').length === 4")
        return browser
    }

    @Test func theSheetHasThreeStops() async throws {
        let stage = try await MapStage()
        let browser = try await self.phone(stage)
        try await browser.wait(for: "the sheet", until: "\(self.stop) === 'half'")
        for (distance, stop) in [(-330.0, "full"), (620, "peek"), (-260, "half")] {
            try await browser.drag(browser.middle(of: "#grip"), by: distance)
            try await browser.wait(for: "the stop \(stop) after a drag", until: "\(self.stop) === '\(stop)'")
            try await self.expectFreeZoomButtons(browser)
            try await stage.keep(try await browser.screenshot(), "phone-\(stop)")
        }
        try await browser.click("#grip")
        try await browser.wait(for: "the next stop after a tap", until: "\(self.stop) === 'full'")
        let arrowDown = "\u{E015}"
        try await browser.press(arrowDown, arrowDown)
        try await browser.wait(for: "the lowest stop after keys", until: "\(self.stop) === 'peek'")
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
    }

    private func expectFreeZoomButtons(_ browser: WebDriver) async throws {
        // The sheet moves for 180 ms.
        try await browser.wait(
            for: "zoom buttons that nothing covers",
            until: """
                [...document.querySelectorAll('.leaflet-control-zoom a')].filter((button) => {
                  const { left, top, width, height } = button.getBoundingClientRect();
                  return button.contains(document.elementFromPoint(left + width / 2, top + height / 2));
                }).length === 2
                """)
    }

    @Test func targetsAreLargeAndInputsAreNotZoomed() async throws {
        let stage = try await MapStage()
        let browser = try await self.phone(stage)
        // Everything that can be tapped or typed into, in the list, in the panel and in its history.
        let small = """
            return [...document.querySelectorAll('button, select, input, a, [role=option]')]
              .filter((target) => target.checkVisibility() && target.className !== 'skip')
              .filter((target) => {
                const { width, height } = target.getBoundingClientRect();
                const isText = target.matches('input:not([type=range]), select');
                return width < 44 || height < 44 || (isText && parseFloat(getComputedStyle(target).fontSize) < 16);
              }).map((target) => target.id || target.outerHTML.slice(0, 80))
            """
        #expect(try await browser.script(small, as: [String].self) == [])
        try await browser.click("#list [role=option]")
        try await browser.wait(for: "the panel", until: self.panel)
        try await browser.click("#past")
        try await browser.wait(for: "the history", until: "!document.querySelector('#history').hidden")
        #expect(try await browser.script(small, as: [String].self) == [])
        try await stage.keep(try await browser.screenshot(), "phone-panel")
    }

    /// The panel of the first tap is under the finger at the second tap.
    @Test func aDoubleTapOnARowPressesNothingElse() async throws {
        let stage = try await MapStage()
        let browser = try await self.phone(stage)
        for row in 1...4 {
            // At half height, the fourth row is below the edge of the list. Each tap lowers the sheet to half height.
            try await browser.click("#grip")
            let isOnTop = """
                (() => {
                  const row = document.querySelector('#list [role=option]:nth-child(\(row))');
                  const box = row.getBoundingClientRect();
                  const { stop } = document.querySelector('#sheet').dataset;
                  return stop === 'full' && row.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2));
                })()
                """
            try await browser.wait(for: "the row in a high sheet", until: isOnTop)
            // Both clicks in one script: a busy machine would make two touches slower than a double tap.
            let twice = """
                const box = document.querySelector('#list [role=option]:nth-child(\(row))').getBoundingClientRect();
                const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
                for (const detail of [1, 2]) {
                  const target = document.elementFromPoint(at.clientX, at.clientY);
                  target.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail, ...at }));
                  if (detail === 2 && target.closest('#list')) {
                    target.dispatchEvent(new MouseEvent('dblclick', { bubbles: true, ...at }));
                  }
                }
                return true
                """
            try await browser.script(twice, as: Bool.self).isTrue()
            try await browser.wait(for: "the panel", until: self.panel)
            try await browser.wait(
                for: "a close map, as after a double click",
                until: "/^100 m$/.test(document.querySelector('.leaflet-control-scale-line').textContent)")
            let pressed = try await browser.script(
                "return [...document.querySelectorAll('#panel [aria-pressed=true], #panel [aria-expanded=true]')].length",
                as: Int.self)
            #expect(pressed == 0)
            try await browser.click("#close")
        }
    }

    @Test func theSheetDoesNotCoverTheTappedMarker() async throws {
        let stage = try await MapStage()
        let browser = try await self.phone(stage)
        try await browser.wait(for: "a fitted map", until: "location.hash.includes('view=')")
        // In peek, the lower half of the map is free; at this view the marker of "a" is there.
        try await browser.drag(browser.middle(of: "#grip"), by: 300)
        try await browser.wait(for: "a low sheet", until: "\(self.stop) === 'peek'")
        try await browser.script("location.hash = '#view=52.66400,-8.63000,15'; return true", as: Bool.self).isTrue()
        let marker = WebDriver.Point(x: 195, y: 422 + 153)
        try await browser.wait(for: "the view", until: "document.querySelector('#map') && \(self.stop) === 'peek'")
        // There is no condition for a drawn frame after the view.
        try await Task.sleep(for: .milliseconds(300))
        try await browser.tap(marker)
        try await browser.wait(for: "the panel", until: "document.querySelector('#panel-name').textContent === 'a'")
        try await browser.wait(for: "the panned map", until: "!location.hash.includes('52.66400')")
        try await stage.keep(try await browser.screenshot(), "phone-tapped")
        let isFree = """
            return import('/map/address.js').then(({ read }) => {
              const { view } = read(location.hash);
              const y = (lat) => -Math.log(Math.tan(Math.PI / 4 + lat * Math.PI / 360)) / (2 * Math.PI) * 256 * 2 ** view.zoom;
              const middle = document.querySelector('#map').clientHeight / 2;
              return middle + y(52.66) - y(view.lat) < document.querySelector('#sheet').getBoundingClientRect().top - 10;
            })
            """
        #expect(try await browser.script(isFree, as: Bool.self))
    }
}

extension Bool {
    fileprivate func isTrue() { #expect(self) }
}
