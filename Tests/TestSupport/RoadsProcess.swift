public import Foundation

/// A real routing engine, Valhalla, with the roads of an OpenStreetMap extract. It is killed with its last reference.
public final class RoadsProcess: Sendable {
    /// The address of the engine, as `--engine` takes it.
    public var address: String { "valhalla:http://127.0.0.1:\(self.port)" }
    /// The port on 127.0.0.1.
    public let port: Int
    private let process: ChildProcess

    /// The OpenStreetMap extract: the file `GODWIT_OSM`, or the first extract of the folder of this name, or of `shared/osm`
    /// beside the package's folder; `nil` if there is none.
    public static let extract: URL? = {
        let named = ProcessInfo.processInfo.environment["GODWIT_OSM"].map { URL(fileURLWithPath: $0) }
        let place = named ?? RoadsProcess.root.deletingLastPathComponent().appendingPathComponent("shared/osm")
        guard place.lastPathComponent.hasSuffix(".osm.pbf") else {
            let files = try? FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)
            return files?.filter { $0.lastPathComponent.hasSuffix(".osm.pbf") }.min { $0.path < $1.path }
        }
        return FileManager.default.fileExists(atPath: place.path) ? place : nil
    }()

    /// `true` if the engine is installed, as `scripts/setup-tests` does it, and there is an extract.
    public static var isAvailable: Bool {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        let service = "\(cache)/godwit/valhalla/valhalla/bin/valhalla_service"
        return Self.extract != nil && FileManager.default.isExecutableFile(atPath: service)
    }

    private static var root: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    private init(_ process: ChildProcess, port: Int) {
        self.process = process
        self.port = port
    }

    /// Starts the engine and waits until it answers.
    ///
    /// - Parameter port: The port; `nil` for a free one.
    public static func start(port: Int? = nil) async throws -> RoadsProcess {
        guard let extract else { throw TestSupportError("there is no OpenStreetMap extract") }
        let port = try port ?? LoopbackPort.free()
        let process = try ChildProcess(
            Self.root.appendingPathComponent("scripts/roads").path, ["--port", "\(port)", extract.path],
            output: "/dev/null")
        let roads = RoadsProcess(process, port: port)
        let deadline = ContinuousClock.now + .seconds(120)
        while (try? await roads.request("GET", "/status"))?.status != 200 {
            guard ContinuousClock.now < deadline, process.isRunning else {
                throw TestSupportError("the routing engine did not start")
            }
            // The engine prints nothing when it begins to answer, so it is asked.
            try await Task.sleep(for: .milliseconds(50))
        }
        return roads
    }

    /// Sends a request to the engine.
    public func request(_ method: String, _ path: String, _ body: String? = nil) async throws -> LoopbackHTTP.Answer {
        try await LoopbackHTTP.request(method, path, port: self.port, body: body)
    }

    /// Kills the engine, and waits for its end.
    public func kill() async throws {
        self.process.signal(SIGKILL)
        try await self.process.waitForEnd()
    }
}
