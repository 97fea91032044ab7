import Foundation
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// A broker, `godwit serve` and a history, for tests of the map.
final class MapStage: Sendable {
    let broker: MosquittoProcess
    let port: Int
    let url: String
    private let folder: URL
    private let gateway: Mutex<RunningProgram>
    private let token: String
    private let serving: [String]

    /// - Parameters:
    ///   - hasDrive: `true` for a history with a drive of `van-7`, which publishes nothing.
    ///   - options: Further options of `godwit serve`.
    init(hasDrive: Bool = false, _ options: [String] = []) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-map-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        self.broker = try await MosquittoProcess.start()
        let state = folder.path()
        if hasDrive { try await Self.importDrive("van-7", minutes: 50, in: folder) }
        let made = try await Programs.run(
            "godwit", ["token", "create", "--name", "desk", "--read-all", "--state", state])
        self.token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        try #require(made.code == 0, "\(made.errors)")
        let port = try LoopbackPort.free()
        self.port = port
        self.url = "http://127.0.0.1:\(port)/"
        let store = hasDrive ? ["--store", Self.history(in: folder), "--acknowledge-by", "keeper"] : ["--no-store"]
        self.serving =
            ["serve", "--listen", "127.0.0.1:\(port)", "--state", state, "--broker", self.broker.url] + store + options
        let gateway = try Programs.start("godwit", self.serving)
        self.gateway = Mutex(gateway)
        try await gateway.waitForLog("listening")
    }

    /// Ends the gateway, runs `body`, and starts another gateway with the same settings.
    func restart(meanwhile body: () async throws -> Void) async throws {
        let former = self.gateway.withLock { $0 }
        former.terminate()
        _ = try await former.result(within: .seconds(60))
        try await body()
        let gateway = try Programs.start("godwit", self.serving)
        self.gateway.withLock { $0 = gateway }
        try await gateway.waitForLog("listening")
    }

    /// Runs a command with the gateway's folder, and returns its output.
    func run(_ arguments: [String]) async throws -> String {
        let result = try await Programs.run("godwit", arguments + ["--state", self.folder.path()])
        try #require(result.code == 0, "\(result.errors)")
        return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    private static func history(in folder: URL) -> String {
        "sqlite:\(folder.appending(path: "history.sqlite").path())"
    }

    /// Starts a simulated device in Limerick. At this default resolution it publishes rarely as long as there are no
    /// requests.
    func agent(
        _ id: String, _ resolution: String = "LOW/20000/0", _ options: [String] = []
    ) throws -> RunningProgram {
        try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", id, "--source", "simulate:", "--broker", self.broker.url, "--battery", "none",
                "--default-resolution", resolution, "--sensor-resolution", "HIGH/500/0",
            ] + options)
    }

    /// Publishes a retained position, as a program without presence does.
    func publish(
        _ id: String, _ latitude: Double, _ longitude: Double, time: Double? = nil, battery: Double? = nil,
        speed: Double? = nil
    ) async throws {
        let level = battery.map { ",\"batteryLevel\":\($0)" } ?? ""
        let pace = speed.map { ",\"speed\":\($0)" } ?? ""
        let payload = """
            {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[\(longitude),\(latitude)]},"properties":\
            {"time":\(time ?? Date().timeIntervalSince1970)\(level)\(pace)}},"skippedLocations":[],"intermediateLocations":[],"type":"ACTUAL"}
            """
        try await self.retain(Array(payload.utf8), on: id)
    }

    func publish(_ journey: Journey, of id: String) async throws {
        try await self.retain(try MessageCodec.encode(journey), on: "\(id)/journey")
    }

    func publish(_ estimate: Estimate, of id: String) async throws {
        try await self.retain(try MessageCodec.encode(estimate), on: "\(id)/estimate")
    }

    func clear(_ topic: String) async throws { try await self.retain([], on: topic) }

    /// Publishes a retained message on a topic below `tracking/`.
    func retain(_ payload: [UInt8], on topic: String) async throws {
        let message = String(decoding: payload, as: UTF8.self)
        let sent = try await RunningProgram(
            "/usr/bin/mosquitto_pub",
            ["-p", "\(self.broker.port)", "-q", "1", "-r", "-t", "tracking/\(topic)", "-m", message]
        ).result()
        try #require(sent.code == 0, "\(sent.errors)")
    }

    func signIn(_ browser: WebDriver, with token: String? = nil, at url: String? = nil) async throws {
        let url = url ?? self.url
        let here = try await browser.script("return location.origin + location.pathname", as: String.self)
        if here != url { try await browser.open(url) }
        try await browser.wait(for: "the door", until: "document.querySelector('#door').open")
        try await browser.type(token ?? self.token, into: "#token")
        try await browser.click("#sign-in button")
        try await browser.wait(for: "the page", until: "!document.querySelector('#door').open")
    }

    func share(_ id: String, for time: String) async throws -> String {
        let made = try await Programs.run(
            "godwit",
            ["share", id, "--for", time, "--state", self.folder.path(), "--url", String(self.url.dropLast())])
        try #require(made.code == 0, "\(made.errors)")
        return made.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Waits until the device has this interval, in ms.
    func resolution(_ interval: Int, _ tap: WireTap) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let said = tap.messages(on: "van-7/resolution").last?.json["resolution"] as? [String: Any]
            if (said?["desiredInterval"] as? NSNumber)?.intValue == interval { return }
            try #require(ContinuousClock.now < deadline, "the device is at \(said ?? [:]), not \(interval) ms")
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Imports a drive that ended a minute ago into the history: a bend through Limerick, with a stop in the middle.
    private static func importDrive(_ id: String, minutes: Int, in folder: URL) async throws {
        let end = Date().timeIntervalSince1970 - 60
        let count = minutes * 12
        var lines: [String] = []
        var way = 0.0
        for index in 0..<count {
            let isStop = (count * 4 / 10..<count * 6 / 10).contains(index)
            if !isStop { way += 0.5 + 0.5 * sin(Double(index) / 15) + 0.2 }
            let (latitude, longitude) = (52.655 + 0.012 * sin(way / 60), -8.66 + way * 3e-4)
            let time = end - Double(count - index) * 5
            lines.append(
                "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[\(longitude),\(latitude)]},"
                    + "\"properties\":{\"time\":\(time)}}")
        }
        let file = folder.appending(path: "drive.geojson").path()
        let collection = "{\"type\":\"FeatureCollection\",\"features\":[\(lines.joined(separator: ","))]}"
        try collection.write(toFile: file, atomically: true, encoding: .utf8)
        let imported = try await Programs.run(
            "godwit", ["import", file, "--trackable", id, "--format", "geojson", "--store", Self.history(in: folder)])
        try #require(imported.code == 0, "\(imported.errors)")
    }

    /// Saves a screenshot as a result of the build.
    func keep(_ picture: Data, _ name: String) async throws {
        let folder = Programs.root.appending(path: ".build/screenshots")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try picture.write(to: folder.appending(path: "\(name).png"))
    }
}

/// Many moving trackables of one publisher without presence.
final class Swarm: Sendable {
    private let sender: RunningProgram

    /// - Parameter age: The age of the positions in seconds.
    static func start(
        _ count: Int, on broker: MosquittoProcess, every seconds: Double = 1, age: Int = 0
    ) async throws -> Swarm {
        // No available client publishes to many topics.
        let script = """
            import json, math, socket, struct, time
            def text(s): b = s.encode(); return struct.pack('>H', len(b)) + b
            def packet(kind, body):
                size, head = len(body), bytes([kind])
                while True:
                    size, digit = divmod(size, 128)
                    head += bytes([digit | (0x80 if size else 0)])
                    if not size: return head + body
            s = socket.create_connection(('127.0.0.1', \(broker.port)))
            s.sendall(packet(0x10, text('MQTT') + b'\\x04\\x02\\x00\\x00' + text('swarm')))
            s.recv(4)
            live = {'session': 'swarm', 'connection': 0, 'lease': 90}
            s.sendall(packet(0x31, text('tracking/_clients/swarm') + json.dumps(dict(live, status='online')).encode()))
            for i in range(\(count)):
                there = dict(live, type='PUBLISHER', since=1, stream='s%d' % i)
                s.sendall(packet(0x31, text('tracking/t%d/publisher/swarm' % i) + json.dumps(there).encode()))
            seq = 0
            while True:
                seq += 1
                out = b''
                for i in range(\(count)):
                    a = i * 2.399963 + seq * 0.01
                    r = 0.002 * math.sqrt(i) + 0.004
                    p = [-8.63 + r * 1.6 * math.cos(a), 52.66 + r * math.sin(a)]
                    props = {'time': time.time() - \(age), 'seq': seq, 'stream': 's%d' % i, 'speed': 9.0, 'bearing': (360 - math.degrees(a)) % 360}
                    m = {'location': {'type': 'Feature', 'geometry': {'type': 'Point', 'coordinates': p}, 'properties': props}, 'skippedLocations': [], 'intermediateLocations': [], 'type': 'ACTUAL'}
                    out += packet(0x30, text('tracking/t%d' % i) + json.dumps(m).encode())
                s.sendall(out)
                time.sleep(\(seconds))
            """
        return Swarm(
            sender: try RunningProgram(
                executable: URL(filePath: "/usr/bin/python3"), arguments: ["-c", script], environment: [:],
                input: "/dev/null"))
    }

    private init(sender: RunningProgram) { self.sender = sender }

    deinit { self.sender.signal(SIGKILL) }
}
