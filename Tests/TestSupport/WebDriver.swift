public import Foundation

/// A headless Chromium that a test controls over WebDriver (W3C), through its own chromedriver on a free port.
///
///     let browser = try await WebDriver.start()
///     try await browser.open("http://127.0.0.1:8080/")
///     try await browser.click("#fit")
///
/// Browser and chromedriver end when the last reference to this object is released.
public final class WebDriver: Sendable {
    private let driver: ChildProcess
    private let port: Int
    private let session: String
    private let folder: URL

    /// Starts a browser with a window of this size in pixels.
    ///
    /// - Parameters:
    ///   - isPhone: `true` for a touch screen of exactly this size, as a phone has. Other windows are at least 500 wide.
    ///   - language: The preferred language of the browser. The default one is English with metric units.
    /// - Throws: `TestSupportError` that names the missing program or contains the output of chromedriver.
    public static func start(
        width: Int = 1280, height: Int = 800, isDark: Bool = false, isPhone: Bool = false, language: String = "en-CA"
    ) async throws -> WebDriver {
        let program = "/usr/bin/chromedriver"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw TestSupportError(
                "cannot find \(program). Install it with scripts/setup, or: apt-get install chromium chromium-driver")
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-chromium-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let port = try LoopbackPort.free()
        let log = folder.appending(path: "driver.log").path()
        let driver = try ChildProcess(program, ["--port=\(port)"], output: log)
        let deadline = ContinuousClock.now + .seconds(60)
        while !LoopbackPort.accepts(port) {
            guard driver.isRunning, ContinuousClock.now < deadline else {
                let printed = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                throw TestSupportError("chromedriver did not accept connections within 60 s: \(printed)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        var arguments = [
            "--headless", "--window-size=\(width),\(height)", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--accept-lang=\(language)",
            "--user-data-dir=\(folder.appending(path: "profile").path())",
        ]
        if getuid() == 0 { arguments.append("--no-sandbox") }
        if isDark { arguments.append("--force-dark-mode") }
        var options: [String: Any] = ["args": arguments, "binary": try Self.browser(in: folder)]
        if isPhone {
            let screen: [String: Any] = ["width": width, "height": height, "pixelRatio": 2, "touch": true]
            options["mobileEmulation"] = ["deviceMetrics": screen]
        }
        let capabilities: [String: Any] = [
            "capabilities": ["alwaysMatch": ["browserName": "chrome", "goog:chromeOptions": options]]
        ]
        struct Session: Decodable { var sessionId: String }
        let body = String(decoding: try JSONSerialization.data(withJSONObject: capabilities), as: UTF8.self)
        // On a busy machine, a browser sometimes ends while it starts. It has not seen a page yet.
        let session: Session
        do { session = try await Self.ask("POST", "/session", body, port: port) } catch {
            guard "\(error)".contains("session not created") else { throw error }
            session = try await Self.ask("POST", "/session", body, port: port)
        }
        let browser = WebDriver(driver: driver, port: port, session: session.sessionId, folder: folder)
        // The headless shell cannot ask a person.
        try await browser.command(
            "goog/cdp/execute",
            ["cmd": "Browser.grantPermissions", "params": ["permissions": ["clipboardSanitizedWrite"]]])
        return browser
    }

    /// Writes a program that starts Chromium's headless shell, which uses a third of the processor time of the whole
    /// browser. It starts with an empty page, because chromedriver waits for one and the shell opens none by itself.
    private static func browser(in folder: URL) throws -> String {
        let program = folder.appending(path: "chrome-headless-shell").path()
        try "#!/bin/sh\nexec /usr/lib/chromium/chromium-headless-shell \"$@\" about:blank\n".write(
            toFile: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        return program
    }

    private init(driver: ChildProcess, port: Int, session: String, folder: URL) {
        self.driver = driver
        self.port = port
        self.session = session
        self.folder = folder
    }

    deinit {
        // Chromium uses its own process group: surviving processes would use processor time that other tests need.
        for process in Self.descendants(of: self.driver.id) + [self.driver.id] { kill(process, SIGKILL) }
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// Returns the ids of all processes that a process has started, directly or indirectly.
    private static func descendants(of process: Int32) -> [Int32] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        let children = threads.flatMap { thread in
            let path = "/proc/\(process)/task/\(thread)/children"
            return (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: " ").compactMap { Int32($0) }
                ?? []
        }
        return children + children.flatMap { Self.descendants(of: $0) }
    }

    // MARK: - Actions of a person

    /// Opens the page at a URL, and returns when it is loaded.
    public func open(_ url: String) async throws { try await self.command("url", ["url": url]) }

    /// Clicks the first element that matches a selector.
    public func click(_ selector: String) async throws {
        try await self.command("element/\(self.element(selector))/click", [:])
    }

    /// Types into the first element that matches a selector.
    public func type(_ text: String, into selector: String) async throws {
        try await self.command("element/\(self.element(selector))/value", ["text": text])
    }

    /// Presses keys one after the other, with WebDriver's codes: `\u{E00C}` is Escape.
    public func press(_ keys: String...) async throws {
        let actions = keys.flatMap { [["type": "keyDown", "value": $0], ["type": "keyUp", "value": $0]] }
        let keyboard: [String: Any] = ["type": "key", "id": "keyboard", "actions": actions]
        try await self.command("actions", ["actions": [keyboard]])
    }

    /// A point of the page.
    public struct Point: Decodable, Sendable {
        /// The pixels from the left edge.
        public let x: Double
        /// The pixels from the upper edge.
        public let y: Double

        /// Creates a point.
        public init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }
    }

    /// Returns the middle of the first element that matches a selector.
    public func middle(of selector: String) async throws -> Point {
        try await self.script(
            """
            const box = document.querySelector(\(try Self.quoted(selector))).getBoundingClientRect();
            return { x: box.left + box.width / 2, y: box.top + box.height / 2 }
            """)
    }

    /// Clicks a point of the page with the mouse.
    public func click(_ point: Point) async throws {
        let actions = [
            Self.move(to: point), ["type": "pointerDown", "button": 0], ["type": "pointerUp", "button": 0],
        ]
        let mouse: [String: Any] = [
            "type": "pointer", "id": "mouse", "parameters": ["pointerType": "mouse"], "actions": actions,
        ]
        try await self.command("actions", ["actions": [mouse]])
    }

    /// Taps a point with a finger, twice for a double tap.
    public func tap(_ point: Point, times: Int = 1) async throws {
        let tap = [Self.move(to: point), ["type": "pointerDown", "button": 0], ["type": "pointerUp", "button": 0]]
        let pause: [String: Any] = ["type": "pause", "duration": 80]
        try await self.touch((0..<times).flatMap { _ in tap + [pause] })
    }

    /// Drags a finger from a point by a number of pixels downwards, and stops before it lifts the finger.
    public func drag(_ point: Point, by distance: Double) async throws {
        var end = Self.move(to: Point(x: point.x, y: point.y + distance))
        end["duration"] = 300
        try await self.touch([
            Self.move(to: point), ["type": "pointerDown", "button": 0], end, ["type": "pause", "duration": 200],
            ["type": "pointerUp", "button": 0],
        ])
    }

    private static func move(to point: Point) -> [String: Any] {
        ["type": "pointerMove", "x": Int(point.x), "y": Int(point.y)]
    }

    private func touch(_ actions: [[String: Any]]) async throws {
        let finger: [String: Any] = [
            "type": "pointer", "id": "finger", "parameters": ["pointerType": "touch"], "actions": actions,
        ]
        try await self.command("actions", ["actions": [finger]])
    }

    private static func quoted(_ text: String) throws -> String {
        String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
    }

    /// Presses the mouse at a place of the page, moves it in some steps, and releases it.
    public func drag(from start: (x: Int, y: Int), to end: (x: Int, y: Int)) async throws {
        let moves = (0...4).map { step -> [String: Any] in
            let (x, y) = (start.x + (end.x - start.x) * step / 4, start.y + (end.y - start.y) * step / 4)
            return ["type": "pointerMove", "duration": 20, "x": x, "y": y, "origin": "viewport"]
        }
        var actions = [moves[0]]
        actions.append(["type": "pointerDown", "button": 0])
        actions += moves.dropFirst()
        actions.append(["type": "pointerUp", "button": 0])
        let mouse: [String: Any] = [
            "type": "pointer", "id": "mouse", "parameters": ["pointerType": "mouse"], "actions": actions,
        ]
        try await self.command("actions", ["actions": [mouse]])
    }

    /// Minimizes the window, so that its page is hidden.
    public func hide() async throws { try await self.command("window/minimize", [:]) }

    /// Shows the window again after ``hide()``, with this size in pixels.
    public func show(width: Int = 1280, height: Int = 800) async throws {
        try await self.command("window/rect", ["x": 0, "y": 0, "width": width, "height": height])
    }

    /// Shows the page as a device with a screen of this size in pixels does.
    public func emulateScreen(width: Int, height: Int) async throws {
        let metrics: [String: Any] = ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600]
        try await self.command(
            "goog/cdp/execute", ["cmd": "Emulation.setDeviceMetricsOverride", "params": metrics])
    }

    /// Changes the page's time zone, for example to `Europe/Dublin`.
    public func move(toZone zone: String) async throws {
        try await self.command(
            "goog/cdp/execute", ["cmd": "Emulation.setTimezoneOverride", "params": ["timezoneId": zone]])
    }

    /// Runs JavaScript in the page and returns its value. The text is the body of a function, and may use `await`.
    public func script<Value: Decodable>(_ text: String, as type: Value.Type = Value.self) async throws -> Value {
        let body = try JSONSerialization.data(withJSONObject: ["script": text, "args": []] as [String: Any])
        return try await Self.ask(
            "POST", "/session/\(self.session)/execute/sync", String(decoding: body, as: UTF8.self), port: self.port)
    }

    /// Waits until a JavaScript expression in the page is true. `what` names the expectation in the error.
    public func wait(for what: String, within limit: Duration = .seconds(60), until text: String) async throws {
        let deadline = ContinuousClock.now + limit
        while try await !self.script("return Boolean(\(text))", as: Bool.self) {
            guard ContinuousClock.now < deadline else {
                let page = try await self.script("return document.body.innerText", as: String.self)
                throw TestSupportError(
                    "the page did not show '\(what)' within \(limit). Its text is: \(page.prefix(1500))")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Returns a screenshot of the page as PNG.
    public func screenshot() async throws -> Data {
        let text: String = try await Self.ask("GET", "/session/\(self.session)/screenshot", nil, port: self.port)
        return Data(base64Encoded: text) ?? Data()
    }

    /// Returns the errors on the console of the page since the last call.
    public func complaints() async throws -> [String] {
        struct Entry: Decodable { var level: String, message: String }
        let entries: [Entry] = try await Self.ask(
            "POST", "/session/\(self.session)/se/log", #"{"type":"browser"}"#, port: self.port)
        return entries.filter { $0.level == "SEVERE" }.map(\.message)
    }

    // MARK: - The protocol

    private struct Nothing: Decodable {}
    private struct Reply<Value: Decodable>: Decodable { var value: Value? }
    private struct Failure: Decodable { var error: String, message: String }

    private func element(_ selector: String) async throws -> String {
        let body = try JSONSerialization.data(withJSONObject: ["using": "css selector", "value": selector])
        let found: [String: String] = try await Self.ask(
            "POST", "/session/\(self.session)/element", String(decoding: body, as: UTF8.self), port: self.port)
        guard let id = found.values.first else {
            throw TestSupportError("no element of the page matches the selector \(selector)")
        }
        return id
    }

    private func command(_ path: String, _ members: [String: Any]) async throws {
        let body = String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self)
        let answer = try await LoopbackHTTP.request(
            "POST", "/session/\(self.session)/\(path)", port: self.port, body: body)
        try Self.check(answer)
    }

    private static func ask<Value: Decodable>(
        _ method: String, _ path: String, _ body: String?, port: Int
    ) async throws -> Value {
        let answer = try await LoopbackHTTP.request(method, path, port: port, body: body, within: .seconds(60))
        try self.check(answer)
        guard let value = try JSONDecoder().decode(Reply<Value>.self, from: answer.body).value else {
            throw TestSupportError("chromedriver's answer to \(path) has no value")
        }
        return value
    }

    private static func check(_ answer: LoopbackHTTP.Answer) throws {
        guard answer.status != 200 else { return }
        let failure = try? JSONDecoder().decode(Reply<Failure>.self, from: answer.body).value
        throw TestSupportError(
            failure.map { "\($0.error): \($0.message)" }
                ?? "chromedriver answered with status \(answer.status): \(answer.text)")
    }
}
