import BenchmarkSupport
import Glibc

/// A history with 100,000 points of one truck, one each 5 seconds, and a gateway that serves it.
struct RecordedTruck {
    private static let start = 1_700_000_000
    private let program: String
    private let store: String
    private let token: String
    private let port: Int
    private let gateway: ChildProcess

    /// Imports the history into a folder of its own, and starts the gateway on it.
    init(_ program: String, broker: Int, in folder: String, port: Int) throws {
        let state = "\(folder)/recorded"
        mkdir(state, 0o700)
        let rows = (0..<100_000).map { index in
            let place = "\(50 + Double(index) * 1e-5),\(8 + Double(index % 500) * 1e-4)"
            return "\(stamp(Self.start + index * 5)),\(place),\(index % 30),\(index % 360)"
        }
        let file = "\(state)/truck.csv"
        guard let out = fopen(file, "w") else { throw BenchmarkError("cannot write the points to import to \(file)") }
        fputs("time,latitude,longitude,speed,bearing\n" + rows.joined(separator: "\n") + "\n", out)
        fclose(out)
        self.program = program
        self.store = "sqlite:\(state)/history.sqlite"
        let imported = try ChildProcess(
            program, ["import", file, "--trackable", "truck", "--store", self.store], isQuiet: true)
        guard imported.waitForEnd() == 0 else { throw BenchmarkError("godwit import failed to import the points") }
        self.token = try makeToken("reader", ["--read-all"], in: state)
        self.port = port
        self.gateway = try ChildProcess(
            "setpriv",
            [
                "--pdeathsig", "KILL", program, "serve", "--broker", "mqtt://127.0.0.1:\(broker)", "--listen",
                "127.0.0.1:\(port)", "--client-id", "recorded", "--state", state, "--store", self.store, "--rate-limit",
                "100000", "--log-level",
                "error",
            ])
        try wait(for: port)
    }

    func end() { self.gateway.end(SIGTERM) }

    /// Returns the seconds until the gateway has sent the complete history as GeoJSON.
    func read() throws -> Double {
        let connection = try Connection(port: self.port)
        let start = secondsNow()
        let (status, body) = try connection.ask(
            "GET", "/api/v1/trackables/truck/history?format=geojson", token: self.token)
        guard status == 200, body.count > 5_000_000 else {
            throw BenchmarkError(
                "the gateway answered the request for the history with status \(status) and \(body.count) bytes")
        }
        return secondsNow() - start
    }

    /// Returns the seconds until the first byte of one day's history has arrived from the gateway.
    func firstByte() throws -> Double {
        let connection = try Connection(port: self.port)
        let from = Self.start + 200_000
        let path = "/api/v1/trackables/truck/history?format=geojson&from=\(stamp(from))&to=\(stamp(from + 86_400))"
        let head = "GET \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(self.token)\r\n\r\n"
        let start = secondsNow()
        try connection.write(Array(head.utf8))
        try connection.waitForBody()
        return secondsNow() - start
    }

    /// Returns the seconds that `godwit history` takes to print the complete history.
    func printed() throws -> Double {
        let start = secondsNow()
        let output = "\(self.store.dropFirst("sqlite:".count)).geojson"
        let command =
            "exec '\(self.program)' history truck --store '\(self.store)' --format geojson --output '\(output)'"
        guard try ChildProcess("sh", ["-c", command], isQuiet: true).waitForEnd() == 0 else {
            throw BenchmarkError("godwit history failed to print the history")
        }
        return secondsNow() - start
    }
}

/// Returns a Unix time as RFC 3339 text in UTC.
func stamp(_ time: Int) -> String {
    var parts = tm()
    var seconds = time_t(time)
    gmtime_r(&seconds, &parts)
    var text = [CChar](repeating: 0, count: 32)
    strftime(&text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
