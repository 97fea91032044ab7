import Foundation
import TestSupport
import Testing

/// Fences, rules and share links that an administrator makes on the map: in a real Chromium, with real Mosquitto and
/// `godwit serve`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MapFenceTests {
    private let limit = Duration.seconds(60)

    /// A size of the window, in pixels.
    struct Size: Sendable, CustomStringConvertible {
        let width: Int
        let height: Int
        var description: String { "\(self.width)×\(self.height)" }
    }

    private static let sizes = [Size(width: 1440, height: 900), Size(width: 390, height: 844)]

    /// A map with the position of `van-7`, an administrator's token and a browser that is signed in with it.
    private func begin(_ size: Size) async throws -> (MapStage, WebDriver, token: String) {
        let stage = try await MapStage()
        try await stage.publish("van-7", 52.66, -8.63)
        let token = try await stage.run(["token", "create", "--name", "boss", "--admin"])
        let browser = try await WebDriver.start(
            width: size.width, height: size.height, isPhone: size.width < 600)
        try await stage.signIn(browser, with: token)
        try await browser.wait(
            for: "the van", within: self.limit, until: "document.querySelectorAll('#list [role=option]').length === 1")
        return (stage, browser, token)
    }

    /// Draws a circle beside the marker with the mouse, and names it.
    private func drawCircle(_ name: String, _ browser: WebDriver) async throws {
        try await browser.script("document.querySelector('#fences-open').click(); return true", as: Bool.self).isTrue()
        try await browser.script("document.querySelector('#draw-circle').click(); return true", as: Bool.self).isTrue()
        let box = try await browser.script(
            "const b = document.querySelector('#fence-sheet').getBoundingClientRect(); return [b.x, b.y, b.width, b.height]",
            as: [Double].self)
        let middle = (x: Int(box[0] + 0.75 * box[2]), y: Int(box[1] + 0.3 * box[3]))
        try await browser.drag(from: middle, to: (x: middle.x + 40, y: middle.y))
        try await browser.wait(for: "the drawn circle", until: "!document.querySelector('#fence-save').hidden")
        try await browser.script(
            "document.querySelector('#fence-name').value = '\(name)'; document.querySelector('#fence-save').click(); return true",
            as: Bool.self
        ).isTrue()
        try await browser.wait(
            for: "the saved fence", until: "document.querySelector('#fence-note').textContent.includes('\(name)')")
    }

    private func press(_ selector: String, _ browser: WebDriver) async throws {
        try await browser.script("document.querySelector('\(selector)').click(); return true", as: Bool.self).isTrue()
    }

    @Test(arguments: Self.sizes) func aDrawnFenceRemainsAndItsRuleRaisesAnEvent(_ size: Size) async throws {
        let (stage, browser, _) = try await self.begin(size)
        let tap = try await WireTap.listen(to: stage.broker)
        try await self.drawCircle("Depot", browser)
        try await self.press("#rule-add", browser)
        try await browser.wait(for: "the rule", until: "document.querySelectorAll('#rules li').length === 1")
        try await stage.keep(try await browser.screenshot(), "fence-editor-\(size.width)")
        try await browser.open(stage.url)
        try await browser.wait(
            for: "the name of the fence", within: self.limit,
            until: "document.querySelector('.fence-name')?.textContent === 'Depot'")
        try await stage.keep(try await browser.screenshot(), "fence-\(size.width)")
        let place = try await browser.script(
            "return fetch('/api/v1/fences/Depot').then((answer) => answer.json()).then((fence) => fence.geometry.coordinates)",
            as: [Double].self)
        try await stage.publish("van-7", place[1], place[0])
        try await tap.wait(within: self.limit) { !$0.events("FENCE_ENTERED", of: "van-7").isEmpty }
        // The switch hides the fences, and the browser remembers that.
        try await self.press("#fences-open", browser)
        try await self.press("#fences-shown", browser)
        try await browser.wait(for: "no fence", until: "!document.querySelector('.fence-name')")
        try await browser.open(stage.url)
        try await browser.wait(
            for: "the list of fences", within: self.limit,
            until: "document.querySelectorAll('#fences-list li').length === 1")
        #expect(try await browser.script("return !document.querySelector('.fence-name')", as: Bool.self))
        let audit = try await stage.run(["audit"])
        #expect(audit.contains(#/set fence +Depot\n/#) && audit.contains(#/set rule +Depot: enter/#))
        #expect(audit.contains("boss (token 2)") && audit.contains("127.0.0.1"))
        #expect(try await browser.complaints().filter { !$0.contains("401") && !$0.contains("404") } == [])
    }

    @Test(arguments: Self.sizes) func aPolygonIsDrawnMovedAndDeletedWithTheMouse(_ size: Size) async throws {
        let (stage, browser, _) = try await self.begin(size)
        try await browser.wait(for: "a fitted map", within: self.limit, until: "location.hash.includes('view=')")
        try await self.press("#fences-open", browser)
        try await self.press("#draw-polygon", browser)
        let box = try await browser.script(
            "const b = document.querySelector('#fence-sheet').getBoundingClientRect(); return [b.x, b.y, b.width, b.height]",
            as: [Double].self)
        let free = try await browser.script(
            "const f = document.querySelector('#fences-box').getBoundingClientRect(); return [f.right, f.bottom]",
            as: [Double].self)
        // On a narrow page, the form is above the map, otherwise beside it.
        let isNarrow = size.width < 600
        let (left, top) = (isNarrow ? box[0] + 100 : free[0] + 100, isNarrow ? free[1] + 30 : box[1] + 150)
        for (x, y) in [(0.0, 0.0), (90, 0), (90, 80), (0, 80)] {
            try await browser.click(WebDriver.Point(x: left + x, y: top + y))
        }
        try await browser.wait(
            for: "the end of the drawing", until: "!document.querySelector('#fence-finish').disabled")
        try await browser.click("#fence-finish")
        try await browser.wait(
            for: "its corners", until: "document.querySelectorAll('.fence-handle.corner').length === 4")
        try await browser.script("document.querySelector('#fence-name').value = 'Yard'; return true", as: Bool.self)
            .isTrue()
        try await browser.click("#fence-save")
        try await browser.wait(
            for: "the saved fence", until: "document.querySelector('#fence-note').textContent.includes('Yard')")
        let drawn = try await self.corners("Yard", browser)
        // Four corners, and the first one again.
        try #require(drawn.count == 5 && drawn[0] == drawn[4], "\(drawn)")
        let corner = try await browser.middle(of: ".fence-handle.corner")
        let start = (x: Int(corner.x), y: Int(corner.y))
        try await browser.drag(from: start, to: (x: start.x + 24, y: start.y + 16))
        try await stage.keep(try await browser.screenshot(), "fence-polygon-\(size.width)")
        try await browser.click("#fence-save")
        try await waitUntil { try await self.corners("Yard", browser) != drawn }
        let moved = try await self.corners("Yard", browser)
        #expect(zip(drawn, moved).filter { $0 != $1 }.count == 2, "only the first corner moves: \(drawn) \(moved)")
        #expect(moved.count == 5 && moved[0][0] > drawn[0][0] && moved[0][1] < drawn[0][1])
        // The first click asks, the second one deletes.
        try await browser.click("#fence-delete")
        try await browser.wait(
            for: "the question", until: "document.querySelector('#fence-delete').textContent.endsWith('?')")
        #expect(try await self.corners("Yard", browser).count == 5)
        try await browser.click("#fence-delete")
        try await browser.wait(
            for: "no fence", within: self.limit, until: "document.querySelectorAll('#fences-list li').length === 0")
        #expect(try await stage.run(["fence", "list"]).contains("Yard") == false)
    }

    /// Returns the outer corners of a fence's first area, as [longitude, latitude].
    private func corners(_ name: String, _ browser: WebDriver) async throws -> [[Double]] {
        try await browser.script(
            "return fetch('/api/v1/fences/\(name)').then((answer) => answer.json()).then((fence) => fence.geometry.coordinates[0][0])",
            as: [[Double]].self)
    }

    /// The editor shows a circle that the gateway has already, and no button of the map covers its fields.
    @Test(arguments: Self.sizes) func aCircleIsEdited(_ size: Size) async throws {
        let (stage, browser, _) = try await self.begin(size)
        _ = try await stage.run(["fence", "add", "depot", "--circle", "52.66,-8.63", "--radius", "150"])
        try await browser.open(stage.url)
        try await browser.wait(
            for: "the list of fences", within: self.limit,
            until: "document.querySelectorAll('#fences-list li').length === 1")
        // Until it has fitted all trackables into view, the map moves by itself.
        try await browser.wait(for: "a fitted map", within: self.limit, until: "location.hash.includes('view=')")
        try await self.press("#fences-open", browser)
        try await self.press("#fences-list button", browser)
        try await browser.wait(
            for: "the radius", until: "document.querySelector('#fence-radius').value === '150'")
        try await browser.wait(for: "the focus", until: "document.activeElement?.id === 'fence-name'")
        let isFree = """
            const [box, zoom] = ['#fences-box', '.leaflet-control-zoom'].map((one) => document.querySelector(one).getBoundingClientRect());
            return box.right <= zoom.left || zoom.right <= box.left || box.bottom <= zoom.top || zoom.bottom <= box.top
            """
        #expect(try await browser.script(isFree, as: Bool.self))
        let middle = try await browser.middle(of: ".fence-handle.centre")
        let isOnTop = "document.elementFromPoint(\(middle.x), \(middle.y)).matches('.fence-handle')"
        #expect(try await browser.script("return \(isOnTop)", as: Bool.self), "the form covers the fence")
        try await stage.keep(try await browser.screenshot(), "fence-edited-\(size.width)")
        let isChanged = try await browser.script(
            """
            const radius = document.querySelector('#fence-radius');
            radius.value = '200';
            radius.dispatchEvent(new Event('change'));
            document.querySelector('#fence-save').click();
            return true
            """, as: Bool.self)
        #expect(isChanged)
        try await browser.wait(
            for: "the saved fence", until: "document.querySelector('#fence-note').textContent.includes('depot')")
        let radius = try await browser.script(
            "return fetch('/api/v1/fences/depot').then((answer) => answer.json()).then((fence) => fence.properties.radius)",
            as: Double.self)
        #expect(radius == 200)
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
    }

    @Test(arguments: Self.sizes) func aShareLinkIsMadeAndRevokedInThePanel(_ size: Size) async throws {
        let (stage, browser, _) = try await self.begin(size)
        try await self.press("#list [role=option]", browser)
        try await browser.wait(for: "the share links", until: "!document.querySelector('#shares').hidden")
        try await self.press("#share-create", browser)
        try await browser.wait(for: "the link", until: "document.querySelector('#share-link').value !== ''")
        try await browser.wait(for: "its entry", until: "document.querySelector('#share-list button')")
        try await browser.script("document.querySelector('#shares').scrollIntoView(); return true", as: Bool.self)
            .isTrue()
        try await stage.keep(try await browser.screenshot(), "shares-\(size.width)")
        let link = try await browser.script("return document.querySelector('#share-link').value", as: String.self)
        let parts = link.components(separatedBy: "/s/")
        try #require(parts.count == 2 && "\(parts[0])/" == stage.url, "\(link)")
        func status() async throws -> Int {
            try await LoopbackHTTP.request(
                "GET", "/api/v1/trackables/van-7", port: stage.port, headers: ["Authorization": "Bearer \(parts[1])"]
            ).status
        }
        #expect(try await status() == 200)
        try await self.press("#share-list button", browser)
        try await browser.wait(for: "no link", until: "!document.querySelector('#share-list button')")
        #expect(try await status() == 401)
    }

    @Test func otherUsersSeeNoEditor() async throws {
        let stage = try await MapStage()
        try await stage.publish("van-7", 52.66, -8.63)
        _ = try await stage.run(["fence", "add", "depot", "--circle", "52.66,-8.63", "--radius", "150"])
        let browser = try await WebDriver.start(width: 1440, height: 900)
        try await stage.signIn(browser)
        try await browser.wait(
            for: "the fence", within: self.limit,
            until: "document.querySelector('.fence-name')?.textContent === 'depot'")
        try await browser.wait(
            for: "the van", within: self.limit, until: "document.querySelector('#list [role=option]')")
        try await self.press("#fences-open", browser)
        try await self.press("#list [role=option]", browser)
        #expect(
            try await browser.script(
                "return ['#draw-circle', '#draw-polygon', '#fence-form', '#destination', '#shares'].map((one) => document.querySelector(one)).every((one) => one.closest('[hidden]'))",
                as: Bool.self))
        try await stage.keep(try await browser.screenshot(), "fence-reader")
        let status = try await browser.script(
            "return fetch('/api/v1/fences/depot', { method: 'DELETE' }).then((answer) => answer.status)", as: Int.self)
        #expect(status == 403)
    }

    /// A command of an administrator reaches the device, and its answer comes back.
    @Test func aCommandIsAnsweredByTheDevice() async throws {
        let stage = try await MapStage(["--allow-commands"])
        let token = try await stage.run(["token", "create", "--name", "boss", "--admin"])
        let agent = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--source", "simulate:", "--broker", stage.broker.url, "--battery",
                "none",
                "--allow-commands",
            ])
        let tap = try await WireTap.listen(to: stage.broker)
        try await tap.wait(within: self.limit) { !$0.messages(on: "van-7").isEmpty }
        let answer = try await LoopbackHTTP.request(
            "POST", "/api/v1/trackables/van-7/commands", port: stage.port,
            headers: ["Authorization": "Bearer \(token)"], body: #"{"command":"report"}"#)
        #expect(answer.status == 200 && answer.text.contains(#""ok":true"#), "\(answer.text)")
        #expect(try await stage.run(["audit"]).contains(#/send command +REPORT to van-7/#))
        #expect(try await agent.end().code == 0)
    }
}

extension Bool {
    fileprivate func isTrue() { #expect(self) }
}
