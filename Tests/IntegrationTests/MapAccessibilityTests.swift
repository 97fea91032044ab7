import Foundation
import TestSupport
import Testing
import TrackingCore

/// The pages of the gateway, checked by axe-core in a real Chromium: on a desk with dark colours, and on a phone with
/// light ones. `scripts/setup-tests` installs axe-core.
@Suite(.serialized, .timeLimit(.minutes(15))) struct MapAccessibilityTests {
    private let limit = Duration.seconds(60)

    /// A browser in which the pages are checked.
    enum Screen: String, CaseIterable, Sendable {
        case desk, phone

        func start() async throws -> WebDriver {
            switch self {
            case .desk: try await WebDriver.start(width: 1440, height: 900, isDark: true)
            case .phone: try await WebDriver.start(width: 390, height: 844, isPhone: true)
            }
        }
    }

    /// Returns the source of axe-core.
    ///
    /// - Throws: `TestSupportError` if it is not installed.
    private static func axe() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        let path = "\(cache)/godwit/axe/axe_core_python/axe.min.js"
        do { return try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw TestSupportError("cannot find axe-core at \(path). Install it with scripts/setup-tests")
        }
    }

    /// Expects that axe-core finds no violation on the page as it is now.
    private func check(
        _ view: String, _ browser: WebDriver, at location: SourceLocation = #_sourceLocation
    ) async throws {
        // Colours that still fade have another contrast.
        try await browser.wait(
            for: "the end of all transitions",
            until:
                "!document.getAnimations().some((one) => one instanceof CSSTransition && one.playState === 'running')")
        let found = try await self.violations(browser)
        #expect(found == [], "\(view)", sourceLocation: location)
    }

    /// Returns the violations that axe-core finds on the page, each with its rule, its element and the remedy.
    private func violations(_ browser: WebDriver) async throws -> [String] {
        let source = try Self.axe()
        return try await browser.script(
            """
            \(source);
            return window.axe.run(document, { resultTypes: ['violations'] }).then(({ violations, passes }) => [
              ...(passes.length > 0 ? [] : ['axe checked nothing']),
              ...violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`)),
            ])
            """, as: [String].self)
    }

    /// Clicks without a pointer, because a part of the page may have to be scrolled into view.
    private func press(_ selector: String, _ browser: WebDriver) async throws {
        let isPressed = try await browser.script(
            "document.querySelector('\(selector)').click(); return true", as: Bool.self)
        #expect(isPressed)
    }

    private static func stop() throws -> Journey.Stop {
        let place = try #require(Coordinate(latitude: 52.665, longitude: -8.62))
        return Journey.Stop(id: "a", name: "Depot", location: place, planned: UnixTime(Date().timeIntervalSince1970))
    }

    /// Returns an estimate that is `age` seconds old.
    private static func estimate(of stop: Journey.Stop, age: Double) -> Estimate {
        let now = Date().timeIntervalSince1970
        return Estimate(
            time: UnixTime(now - age), basis: .straightLine,
            stops: [
                Estimate.Stop(
                    id: stop.id, eta: UnixTime(now + 900), earliest: UnixTime(now + 600), latest: UnixTime(now + 1200),
                    distance: 2_000, status: .delayed)
            ])
    }

    @Test(arguments: Screen.allCases) func signingInAndAnEmptyFleet(_ screen: Screen) async throws {
        let stage = try await MapStage()
        let browser = try await screen.start()
        try await browser.open(stage.url)
        try await browser.wait(for: "the door", until: "document.querySelector('#door').open")
        try await self.check("signing in", browser)
        try await stage.signIn(browser)
        try await browser.wait(
            for: "the next steps", within: self.limit, until: "!document.querySelector('#guide').hidden")
        try await self.check("an empty fleet", browser)
        try await self.press("#add-phone", browser)
        try await browser.wait(for: "the dialog", until: "document.querySelector('#phone').open")
        try await self.check("connecting a phone", browser)
    }

    @Test(arguments: Screen.allCases) func theViewOfAnAdministrator(_ screen: Screen) async throws {
        let stage = try await MapStage(hasDrive: true)
        try await stage.publish("van-7", 52.66, -8.63, battery: 0.2)
        try await stage.publish("van-8", 52.67, -8.62)
        _ = try await stage.run(["trackables", "set", "van-8", "name=Van 8", "group=north"])
        _ = try await stage.run(["fence", "add", "depot", "--circle", "52.66,-8.63", "--radius", "150"])
        let token = try await stage.run(["token", "create", "--name", "boss", "--admin"])
        let browser = try await screen.start()
        try await stage.signIn(browser, with: token)
        try await browser.wait(
            for: "the vans", within: self.limit, until: "document.querySelectorAll('#list [role=option]').length === 2")
        try await browser.wait(
            for: "the fence", within: self.limit, until: "document.querySelectorAll('#fences-list li').length === 1")
        try await self.check("the list", browser)
        try await self.press("#list [data-id=van-7]", browser)
        try await browser.wait(for: "the panel", until: "!document.querySelector('#panel').hidden")
        try await self.check("the panel", browser)
        let stop = try Self.stop()
        try await stage.publish(Journey(stops: [stop]), of: "van-7")
        try await browser.wait(
            for: "a journey without an estimate", within: self.limit,
            until: "document.querySelectorAll('#stops li').length === 1")
        try await self.check("a journey without an estimate", browser)
        for (age, name) in [(0, "a journey"), (300, "a journey with an old estimate")] {
            try await stage.publish(Self.estimate(of: stop, age: Double(age)), of: "van-7")
            try await browser.wait(
                for: name, within: self.limit,
                until:
                    "document.querySelector('#stops .DELAYED') && document.querySelector('#journey').classList.contains('old') === \(age > 120)"
            )
            try await self.check(name, browser)
        }
        try await self.press("#past", browser)
        try await browser.wait(
            for: "the history", within: self.limit, until: "!document.querySelector('#replay').hidden")
        try await self.press("#share-create", browser)
        try await browser.wait(for: "the link", until: "document.querySelector('#share-list button')")
        try await self.press("#destination-set", browser)
        try await self.press("#destination-middle", browser)
        try await self.check("the panel with its history, destination and share links", browser)
        try await self.press("#journey-edit", browser)
        try await browser.wait(for: "the form", until: "document.querySelectorAll('#journey-stops li').length === 1")
        try await self.check("the editor of a journey", browser)
        try await self.press("#close", browser)
        try await self.press("#fences-open", browser)
        try await self.check("the list of fences", browser)
        try await self.press("#fences-list button", browser)
        try await browser.wait(for: "the editor", until: "!document.querySelector('#fence-form').hidden")
        try await browser.wait(for: "its points", until: "document.querySelectorAll('.fence-handle').length > 0")
        try await self.check("the editor of a fence", browser)
    }

    @Test(arguments: Screen.allCases) func thePageOfAShareLink(_ screen: Screen) async throws {
        let stage = try await MapStage(["--operator-name", "Limerick Parcels"])
        let agent = try stage.agent("van-7", "LOW/2000/0", ["--destination", "52.72,-8.63"])
        try await waitUntil {
            try await MosquittoTool.retained("tracking/van-7", on: stage.broker).contains("coordinates")
        }
        let browser = try await screen.start()
        try await browser.open(try await stage.share("van-7", for: "2h"))
        try await browser.wait(
            for: "the arrival", within: self.limit, until: "!document.querySelector('#arrival').hidden")
        try await self.check("a live van", browser)
        let stop = try Self.stop()
        try await stage.publish(Journey(stops: [stop]), of: "van-7")
        for (age, name) in [(0, "a stop"), (300, "a stop with an old estimate")] {
            try await stage.publish(Self.estimate(of: stop, age: Double(age)), of: "van-7")
            try await browser.wait(
                for: name, within: self.limit,
                until:
                    "!document.querySelector('#turn').hidden && document.querySelector('#estimate-age').hidden === \(age < 120)"
            )
            try await self.check(name, browser)
        }
        try await browser.open(stage.url + "s/gs_wrong")
        try await browser.wait(
            for: "what to do", within: self.limit, until: "!document.querySelector('#over').hidden")
        try await self.check("a wrong link", browser)
        withExtendedLifetime(agent) {}
    }

    /// The check would be worthless if it found nothing at all.
    @Test func aFaultIsFound() async throws {
        let stage = try await MapStage()
        let browser = try await Screen.desk.start()
        try await stage.signIn(browser)
        let isMade = try await browser.script(
            "document.querySelector('#search').removeAttribute('aria-label'); document.querySelector('#search').placeholder = ''; return true",
            as: Bool.self)
        #expect(isMade)
        let found = try await self.violations(browser)
        #expect(found.contains { $0.hasPrefix("label:") }, "\(found)")
    }
}
