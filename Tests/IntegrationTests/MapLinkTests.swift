import Foundation
import TestSupport
import Testing

/// The page's display and requests when its connection breaks, when another user signs in, and while positions change:
/// in a real Chromium, with real Mosquitto and `godwit serve`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MapLinkTests {
    private let count = "document.querySelectorAll('#list [role=option]').length"
    private let limit = Duration.seconds(60)

    @Test func quietTrackablesRemainWhenTheConnectionBreaks() async throws {
        let stage = try await MapStage()
        for (index, id) in ["a", "b", "c"].enumerated() {
            try await stage.publish(id, 52.66 + Double(index) / 100, -8.63)
        }
        let relay = try await Relay(to: stage.port)
        let browser = try await WebDriver.start()
        try await stage.signIn(browser, at: "http://127.0.0.1:\(relay.port)/")
        try await browser.wait(for: "all three", within: self.limit, until: "\(self.count) === 3")
        try await browser.click("#list [role=option]")
        // The connection returns within seconds, so that the page itself records its display during the outage.
        try await browser.script(
            """
            window.seen = {};
            setInterval(() => {
              seen.link ||= /^Connection lost at \\d\\d:\\d\\d:\\d\\d\\. Positions may be out of date/.test(document.querySelector('#banner').innerText);
              seen.state ||= document.querySelector('#list .UNKNOWN .more')?.textContent.includes('unknown');
            }, 20);
            return true
            """, as: Bool.self
        ).isTrue()
        relay.cut()
        try await browser.wait(for: "that it is lost", within: self.limit, until: "seen.link && seen.state")
        try await browser.wait(for: "the stream", within: self.limit, until: "document.querySelector('#banner').hidden")
        // The same page shows later positions.
        try await stage.publish("a", 52.5125, -8.63)
        try await browser.wait(
            for: "a new position", within: self.limit,
            until: "document.querySelector('#facts').textContent.includes('52.51250')")
        #expect(try await browser.script("return \(self.count)", as: Int.self) == 3)
        #expect(try await browser.script("return !document.querySelector('#panel').hidden", as: Bool.self))
    }

    /// As the link of `godwit demo` does. The token does not stay in the address, and signs no other browser in.
    @Test func anAddressWithATokenSignsInAndWatches() async throws {
        let stage = try await MapStage()
        let tap = try await WireTap.listen(to: stage.broker)
        let agent = try stage.agent("van-7")
        try await stage.resolution(20_000, tap)
        let token = try await stage.run(["token", "create", "--name", "link", "--read-all", "--once"])
        let browser = try await WebDriver.start()
        try await browser.open("\(stage.url)#sign-in=\(token)")
        try await browser.wait(for: "the van", within: self.limit, until: "\(self.count) === 1")
        let page = try await browser.script("return location.href", as: String.self)
        #expect(page.hasPrefix(stage.url) && !page.contains("sign-in") && !page.contains(token))
        #expect(try await !browser.script("return document.querySelector('#door').open", as: Bool.self))
        let again = try await HTTPAnswer.of(
            "/session", method: "POST", port: stage.port, headers: ["Content-Type: application/json"],
            body: #"{"token":"\#(token)"}"#)
        #expect(again.status == 401)
        try await browser.script(
            "document.querySelector('#list [role=option]').dispatchEvent(new MouseEvent('dblclick', {bubbles: true})); return true",
            as: Bool.self
        ).isTrue()
        try await stage.resolution(1_000, tap)
        try await browser.open("about:blank")
        try await stage.resolution(20_000, tap)
        #expect(try await agent.end().code == 0)
    }

    /// A hidden window has no stream that would end with its session.
    @Test func anotherUserSeesNothingOfThePreviousOne() async throws {
        let stage = try await MapStage()
        try await stage.publish("van-7", 52.66, -8.63)
        try await stage.publish("bike-3", 52.67, -8.63)
        let narrow = try await stage.run(["token", "create", "--name", "narrow", "--read", "bike-3"])
        let browser = try await WebDriver.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "both", within: self.limit, until: "\(self.count) === 2")
        try await browser.script(
            "[...document.querySelectorAll('#list [role=option]')].find(e => e.dataset.id === 'van-7').click(); return true",
            as: Bool.self
        ).isTrue()
        try await browser.hide()
        try await browser.wait(for: "that it is hidden", within: self.limit, until: "document.hidden")
        // Another window of the same browser signs in this way.
        let status = try await browser.script(
            """
            return fetch('/session', { method: 'DELETE' }).then(() => fetch('/session', { method: 'POST',
              headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token: '\(narrow)' }) }))
              .then((answer) => answer.status)
            """, as: Int.self)
        #expect(status == 200)
        try await browser.show()
        try await browser.wait(for: "the bike alone", within: self.limit, until: "\(self.count) === 1")
        let page = try await browser.script("return document.body.innerText", as: String.self)
        #expect(page.contains("bike-3") && !page.contains("van-7"))
        #expect(try await browser.script("return document.querySelector('#panel').hidden", as: Bool.self))
    }

    @Test func onlyTrackablesInViewAreRequested() async throws {
        let stage = try await MapStage()
        let tap = try await WireTap.listen(to: stage.broker)
        func waitUntil(_ id: String, isAskedFor interval: Int?) async throws {
            let deadline = ContinuousClock.now + self.limit
            while true {
                let last = tap.messages.last { $0.topic.hasPrefix("tracking/\(id)/request/") }
                let asked = (last?.json["resolution"] as? [String: Any])?["desiredInterval"] as? Int
                if asked == interval { return }
                try #require(ContinuousClock.now < deadline, "\(id) is asked for \(asked ?? -1), not \(interval ?? -1)")
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        try await stage.publish("a", 52.66, -8.63)
        try await stage.publish("b", 52.75, -8.63)
        let browser = try await WebDriver.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "both", within: self.limit, until: "\(self.count) === 2")
        try await browser.click("#list [role=option]")
        try await browser.click("#zoom")
        try await waitUntil("a", isAskedFor: 1000)
        try await waitUntil("b", isAskedFor: nil)
        try await browser.click("#close")
        try await stage.publish("b", 52.6602, -8.6302)
        try await waitUntil("b", isAskedFor: 1000)
        try await stage.publish("a", 52.9, -8.63)
        try await waitUntil("a", isAskedFor: nil)
    }

    @Test func aBusyFleetIsBroughtIntoViewAndOneThatIsFollowedAskedFor() async throws {
        let stage = try await MapStage()
        let swarm = try await Swarm.start(3, on: stage.broker, every: 0.1)
        let browser = try await WebDriver.start()
        try await stage.signIn(browser)
        try await browser.wait(
            for: "a map of where they are", within: self.limit,
            until: "!/[0-9]{3} km/.test(document.querySelector('.leaflet-control-scale-line').textContent)")
        try await browser.click("#list [role=option]")
        try await browser.click("#follow")
        try await browser.click("#zoom")
        try await browser.wait(
            for: "what is asked for", within: self.limit,
            until: "document.querySelector('#facts').textContent.includes('high, every 1 s and')")
        withExtendedLifetime(swarm) {}
    }

    @Test func theDoorStaysUntilSomebodyIsSignedIn() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        let isOpen = "document.querySelector('#door').open"
        try await browser.wait(for: "the door", within: self.limit, until: isOpen)
        let escape = "\u{E00C}"
        for _ in 0..<2 {
            try await browser.press(escape, escape)
            // There is no condition for the absence of a change.
            try await Task.sleep(for: .milliseconds(300))
        }
        #expect(try await browser.script("return \(isOpen)", as: Bool.self))
        try await stage.signIn(browser)
        try await Task.sleep(for: .milliseconds(300))
        #expect(try await !browser.script("return \(isOpen)", as: Bool.self))
    }
}

extension Bool {
    fileprivate func isTrue() { #expect(self) }
}
