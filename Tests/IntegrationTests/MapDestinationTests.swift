import Foundation
import TestSupport
import Testing

/// The destination of a device, which an administrator sets and removes on the map: in a real Chromium, with real
/// Mosquitto, agent and `godwit serve`. Screenshots are saved in `.build/screenshots`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MapDestinationTests {
    private let limit = Duration.seconds(60)
    private let note = "document.querySelector('#destination-note').textContent"
    private let facts = "document.querySelector('#facts').innerText"

    /// A signed-in administrator who has chosen `van-7`, on a phone or at a desk.
    private func browser(_ stage: MapStage, isPhone: Bool, language: String = "en-CA") async throws -> WebDriver {
        let token = try await stage.run(["token", "create", "--name", "boss", "--admin"])
        let browser = try await WebDriver.start(
            width: isPhone ? 390 : 1440, height: isPhone ? 844 : 900, isPhone: isPhone, language: language)
        try await stage.signIn(browser, with: token)
        try await browser.wait(
            for: "the van", within: self.limit, until: "document.querySelectorAll('#list [role=option]').length === 1")
        // The map moves to the van before it is used.
        try await browser.wait(for: "a fitted map", within: self.limit, until: "location.hash.includes('view=')")
        try await self.press("#list [role=option]", browser)
        try await browser.wait(for: "the section", until: "!document.querySelector('#destination').hidden")
        return browser
    }

    /// Clicks without a pointer, because a part of the panel may have to be scrolled into view.
    private func press(_ selector: String, _ browser: WebDriver) async throws {
        let isPressed = try await browser.script(
            "document.querySelector('\(selector)').click(); return true", as: Bool.self)
        #expect(isPressed)
    }

    /// Types coordinates in place of those in the form, and sends them to the device.
    private func send(_ place: String, _ browser: WebDriver) async throws {
        let isTyped = try await browser.script(
            """
            const input = document.querySelector('#destination-place');
            input.value = '\(place)';
            input.dispatchEvent(new Event('input'));
            return true
            """, as: Bool.self)
        #expect(isTyped)
        try await self.press("#destination-save", browser)
    }

    @Test(arguments: [false, true]) func aDestinationIsSetOnTheMapAndRemoved(isPhone: Bool) async throws {
        let stage = try await MapStage(["--allow-commands"])
        let agent = try stage.agent("van-7", "LOW/2000/0", ["--allow-commands"])
        let browser = try await self.browser(stage, isPhone: isPhone)
        try await self.press("#destination-set", browser)
        // A place of the map that neither the list nor the panel nor the sheet covers.
        let place = WebDriver.Point(x: isPhone ? 120 : 600, y: isPhone ? 150 : 300)
        if isPhone { try await browser.tap(place) } else { try await browser.click(place) }
        try await browser.wait(for: "the place", until: "document.querySelector('#destination-place').value !== ''")
        let chosen = try await browser.script(
            "return document.querySelector('#destination-place').value", as: String.self)
        let pin = try await browser.script(
            "const b = document.querySelector('.pin').getBoundingClientRect(); return [b.left + b.width / 2, b.bottom]",
            as: [Double].self)
        #expect(abs(pin[0] - place.x) <= 2 && abs(pin[1] - place.y) <= 2, "the pin is at \(pin)")
        try await stage.keep(try await browser.screenshot(), "destination-form-\(isPhone ? 390 : 1440)")
        try await self.press("#destination-save", browser)
        try await browser.wait(
            for: "the answer of the device", within: self.limit, until: "\(self.note).includes('new destination')")
        try await browser.wait(
            for: "the destination", within: self.limit,
            until: "\(self.facts).includes('\(chosen)') && \(self.facts).includes('Destination')")
        try await stage.keep(try await browser.screenshot(), "destination-\(isPhone ? 390 : 1440)")
        try await self.press("#destination-remove", browser)
        try await browser.wait(
            for: "no destination", within: self.limit,
            until: "!\(self.facts).includes('Destination') && !document.querySelector('.pin')")
        #expect(try await browser.script("return \(self.note)", as: String.self).contains("no destination"))
        let audit = try await stage.run(["audit"])
        #expect(
            audit.components(separatedBy: "send command  DESTINATION to van-7").count == 3 && audit.contains("boss"))
        #expect(!audit.contains(chosen.prefix(6)))
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
        withExtendedLifetime(agent) {}
    }

    @Test func typedPlacesAndFailuresAreExplained() async throws {
        let stage = try await MapStage(["--allow-commands"])
        // The broker has a position, and no device answers.
        try await stage.publish("van-7", 52.66, -8.63)
        let browser = try await self.browser(stage, isPhone: false)
        try await self.press("#destination-set", browser)
        try await self.send("somewhere", browser)
        try await browser.wait(
            for: "what to type", until: "\(self.note).includes('Enter latitude and longitude in degrees')")
        // Keys: the middle of the map, and Escape, which leaves the panel open.
        try await self.press("#destination-middle", browser)
        try await browser.wait(for: "a place", until: "document.querySelector('.pin')")
        let escape = "\u{E00C}"
        try await browser.press(escape)
        try await browser.wait(for: "a closed form", until: "document.querySelector('#destination-form').hidden")
        #expect(
            try await browser.script(
                "return !document.querySelector('#panel').hidden && !document.querySelector('.pin')", as: Bool.self))
        try await self.press("#destination-set", browser)
        try await self.send("52.6638, -8.6305", browser)
        try await browser.wait(
            for: "that no device answered", within: self.limit,
            until: "\(self.note).includes('did not answer within 10 s') && \(self.note).includes('--allow-commands')")
        // The form remains, so that the user can try again.
        let rest = try await browser.script(
            "return document.querySelector('#destination-place').value", as: String.self)
        #expect(rest == "52.6638, -8.6305")
        try await stage.keep(try await browser.screenshot(), "destination-silent")
    }

    @Test func aGatewayWithoutCommandsNamesTheOption() async throws {
        let stage = try await MapStage()
        try await stage.publish("van-7", 52.66, -8.63)
        let browser = try await self.browser(stage, isPhone: false, language: "de-DE")
        let label = try await browser.script(
            "return document.querySelector('#destination-set').textContent", as: String.self)
        #expect(label == "Ziel setzen")
        try await self.press("#destination-set", browser)
        try await self.send("52.6638, -8.6305", browser)
        try await browser.wait(for: "the option", until: "\(self.note).includes('godwit serve with --allow-commands')")
    }
}
