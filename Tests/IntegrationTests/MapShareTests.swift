import Foundation
import TestSupport
import Testing
import TrackingCore

/// The page of a share link in a real Chromium, at the sizes of a phone and of a desk, with real Mosquitto, agent and
/// `godwit serve`. Screenshots are saved in `.build/screenshots`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MapShareTests {
    private let limit = Duration.seconds(60)
    private let card = "document.querySelector('#card').innerText"
    private let over = "(document.querySelector('#over').hidden ? '' : document.querySelector('#over').innerText)"

    private func phone(_ link: String, language: String = "en-CA") async throws -> WebDriver {
        let browser = try await WebDriver.start(width: 600, height: 900, language: language)
        try await browser.emulateScreen(width: 390, height: 844)
        try await browser.open(link)
        return browser
    }

    private func text(_ browser: WebDriver, _ script: String) async throws -> String {
        try await browser.script("return \(script)", as: String.self)
    }

    /// A van in Limerick with a destination in the north of the town.
    private func van(_ stage: MapStage) throws -> RunningProgram {
        try stage.agent("van-7", "LOW/20000/0", ["--destination", "52.72,-8.63"])
    }

    // MARK: - Live

    @Test func aCustomerSeesWhereTheVanIsAndWhenItArrives() async throws {
        let stage = try await MapStage(["--operator-name", "Limerick Parcels", "--operator-logo", Self.logo()])
        let tap = try await WireTap.listen(to: stage.broker)
        let agent = try self.van(stage)
        try await stage.resolution(20_000, tap)
        _ = try await stage.run(["trackables", "set", "van-7", "name=Van 7"])
        let link = try await stage.share("van-7", for: "2h")
        let browser = try await self.phone(link)
        try await browser.wait(for: "the live van", within: self.limit, until: "\(self.card).includes('Live')")
        try await browser.wait(
            for: "the arrival", within: self.limit, until: "!document.querySelector('#arrival').hidden")
        // The page requests the one resolution that a link may request.
        try await stage.resolution(2_000, tap)
        let shown = try await self.text(browser, self.card)
        for part in ["Limerick Parcels", "Van 7", "Arrives at about", "to the destination", "This link ends "] {
            #expect(shown.contains(part), "\(shown)")
        }
        for secret in ["HIGH", "high", "±", "Because", "battery", "watcher"] { #expect(!shown.contains(secret)) }
        #expect(
            try await browser.script("return document.querySelector('#logo').naturalWidth > 0", as: Bool.self))
        try await stage.keep(try await browser.screenshot(), "share-390")
        try await self.checkFollowing(browser)
        let complaints = try await browser.complaints()
        #expect(complaints == [])
        try await browser.emulateScreen(width: 1440, height: 900)
        try await stage.keep(try await browser.screenshot(), "share-1440")
        // A hidden page requests nothing.
        try await browser.open("about:blank")
        try await stage.resolution(20_000, tap)
        let german = try await self.phone(link, language: "de-DE")
        try await german.wait(for: "the arrival", within: self.limit, until: "\(self.card).includes('Ankunft etwa')")
        try await german.wait(for: "the end", until: "\(self.card).includes('Dieser Link endet ')")
        try await stage.keep(try await german.screenshot(), "share-390-german")
        withExtendedLifetime(agent) {}
    }

    /// The map follows until the user moves it. The button lets it follow again.
    private func checkFollowing(_ browser: WebDriver) async throws {
        let isHidden = "document.querySelector('#follow').hidden"
        #expect(try await browser.script("return \(isHidden)", as: Bool.self))
        let drag = """
            const map = document.querySelector('#map');
            const move = (kind, x, target) => target.dispatchEvent(
              new MouseEvent(kind, { bubbles: true, clientX: x, clientY: 250, button: 0 }));
            move('mousedown', 100, map);
            for (const x of [120, 160, 200]) move('mousemove', x, document.body);
            move('mouseup', 200, document.body);
            return true
            """
        #expect(try await browser.script(drag, as: Bool.self))
        try await browser.wait(for: "the button", until: "!\(isHidden)")
        let height = "document.querySelector('#follow').getBoundingClientRect().height"
        #expect(try await browser.script("return \(height) >= 44", as: Bool.self))
        try await browser.click("#follow")
        try await browser.wait(for: "that it follows again", until: isHidden)
    }

    private static func logo() throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "godwit-logo-\(UUID().uuidString).svg").path()
        let svg = """
            <svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle cx="20" cy="20" r="18" fill="#0a7"/></svg>
            """
        try svg.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    // MARK: - Not live

    @Test func aLinkExplainsItsEmptyMapAndSaysWhenTheVanWasLastSeen() async throws {
        let stage = try await MapStage()
        let before = Date().timeIntervalSince1970 - 600
        try await stage.publish("van-7", 52.66, -8.63, time: before)
        let browser = try await self.phone(try await stage.share("van-7", for: "3d"))
        try await browser.wait(
            for: "why there is nothing", within: self.limit,
            until: "\(self.card).includes('No position has arrived since')")
        try await stage.keep(try await browser.screenshot(), "share-390-empty")
        // A publisher without presence is not live.
        try await stage.publish("van-7", 52.67, -8.63)
        try await browser.wait(
            for: "the last position", within: self.limit, until: "/Last seen (just now|\\d+ s ago)/.test(\(self.card))")
        let shown = try await self.text(browser, self.card)
        #expect(!shown.contains("Live") && !shown.contains("No position") && shown.contains("This link ends on"))
        try await stage.keep(try await browser.screenshot(), "share-390-seen")
    }

    @Test func aLostConnectionIsABannerUntilItReturns() async throws {
        let stage = try await MapStage()
        let agent = try self.van(stage)
        let browser = try await self.phone(try await stage.share("van-7", for: "2h"))
        try await browser.wait(for: "the live van", within: self.limit, until: "\(self.card).includes('Live')")
        let banner = "(document.querySelector('#banner').hidden ? '' : document.querySelector('#banner').innerText)"
        let limit = self.limit
        let card = self.card
        try await stage.restart {
            try await browser.wait(
                for: "the banner", within: limit, until: "\(banner).includes('Connection lost at')")
            #expect(try await browser.script("return \(card).includes('Last seen')", as: Bool.self))
            try await stage.keep(try await browser.screenshot(), "share-390-lost")
        }
        try await browser.wait(for: "no banner", within: self.limit, until: "\(banner) === ''")
        try await browser.wait(for: "the live van", within: self.limit, until: "\(self.card).includes('Live')")
        withExtendedLifetime(agent) {}
    }

    // MARK: - The end

    @Test func aLinkDiesOnTimeAndSaysSo() async throws {
        let stage = try await MapStage()
        let agent = try self.van(stage)
        // A link shows nothing of a trackable that the gateway does not know yet.
        try await waitUntil {
            try await MosquittoTool.retained("tracking/van-7", on: stage.broker).contains("coordinates")
        }
        let made = ContinuousClock.now
        let link = try await stage.share("van-7", for: "20s")
        let browser = try await self.phone(link)
        try await browser.wait(for: "the van", within: self.limit, until: "\(self.card).includes('Live')")
        let ended = "\(self.over).includes('This link has ended') && \(self.over).includes('It ended at')"
        try await browser.wait(for: "the end", within: self.limit, until: ended)
        #expect(ContinuousClock.now - made > .seconds(19), "not before its time")
        #expect(try await browser.script("return document.querySelector('#dock').hidden", as: Bool.self))
        try await browser.open(link)
        try await browser.wait(for: "the end", within: self.limit, until: ended)
        try await stage.keep(try await browser.screenshot(), "share-390-expired")
        withExtendedLifetime(agent) {}
    }

    @Test func aRevokedLinkSaysSo() async throws {
        let stage = try await MapStage()
        let browser = try await self.phone(try await stage.share("van-7", for: "2h"))
        try await browser.wait(for: "the page", within: self.limit, until: "\(self.card).includes('van-7')")
        _ = try await stage.run(["share", "revoke", "2"])
        try await browser.wait(
            for: "the end", within: self.limit,
            until: "\(self.over).includes('was withdrawn') && \(self.over).includes('Ask the person')")
        try await stage.keep(try await browser.screenshot(), "share-390-revoked")
    }

    @Test(arguments: ["s/gs_wrong", "s/gs_1%E0%A4%A"]) func aWrongLinkSaysWhatToDo(path: String) async throws {
        let stage = try await MapStage()
        let browser = try await self.phone(stage.url + path)
        try await browser.wait(
            for: "what to do", within: self.limit,
            until: "\(self.over).includes('does not work') && \(self.over).includes('Open the link in the message')")
        try await stage.keep(try await browser.screenshot(), "share-390-wrong")
    }
}
