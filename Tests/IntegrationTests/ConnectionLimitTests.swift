import Foundation
import TestSupport
import Testing

/// Servers with a low limit of descriptors, which idle connections would exhaust.
@Suite(.timeLimit(.minutes(5))) struct ConnectionLimitTests {
    /// A server, its limit of descriptors, and the number of connections that it accepts with that limit.
    struct Case: Sendable, CustomTestStringConvertible {
        let command: String
        let descriptors: Int
        var connections: Int { self.descriptors - 200 }
        var testDescription: String { self.command }
    }

    private static let cases = [Case(command: "record", descriptors: 300), Case(command: "serve", descriptors: 256)]

    /// The processor time of a program so far, in seconds.
    private static func processorTime(of id: Int32) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
        let fields = text.split(separator: ")").last.map { $0.split(separator: " ") } ?? []
        let ticks = try fields[11...12].map { try #require(Double($0)) }.reduce(0, +)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func start(_ server: Case, _ broker: MosquittoProcess, _ folder: URL) throws -> RunningProgram {
        let program = Programs.root.appending(path: ".build/debug/godwit").path()
        let own = server.command == "serve" ? "--no-store --state" : "--store"
        let place = server.command == "serve" ? folder.path() : "sqlite:\(folder.path())history.sqlite"
        return try RunningProgram(
            "/bin/sh",
            [
                "-c",
                "ulimit -n \(server.descriptors) && exec '\(program)' \(server.command) --broker \(broker.url) "
                    + "--listen 127.0.0.1:0 \(own) '\(place)'",
            ])
    }

    @Test(arguments: ConnectionLimitTests.cases) func idleConnectionsTakeNoMoreThanTheirShare(server: Case) async throws
    {
        let broker = try await MosquittoProcess.start()
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "godwit-idle-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = try Self.start(server, broker, folder)
        try await program.waitForLog("listening on http://127.0.0.1:")
        let match = try #require(program.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#))
        let port = try #require(Int(match.1))
        func idle(_ count: Int, from address: String) throws -> [RawConnection] {
            try (0..<count).map { _ in try RawConnection(port: port, from: address) }
        }
        func ask(from address: String) async throws -> RawConnection {
            let connection = try RawConnection(port: port, from: address)
            try await connection.sendAll("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return connection
        }
        // One address: connections beyond a quarter of the limit are closed at once, and other addresses are served.
        let share = server.connections / 4
        var held = try idle(share + 5, from: "127.0.0.2")
        try await waitUntil { held.count(where: \.isClosedByPeer) >= 5 }
        #expect(held.count(where: \.isClosedByPeer) == 5)
        #expect(HTTPAnswer(try await ask(from: "127.0.0.9").read()).status == 200)
        // Many addresses: connections beyond the limit wait, and use no processor time.
        for number in 3...7 { held += try idle(share, from: "127.0.0.\(number)") }
        let waiting = try await ask(from: "127.0.0.9")
        let before = try Self.processorTime(of: program.id)
        await #expect(throws: TestSupportError.self) { try await waiting.read(within: .seconds(1)) { !$0.isEmpty } }
        #expect(try Self.processorTime(of: program.id) - before < 0.5, "it asks for connections again and again")
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(program.id)/fd").count
        #expect(open < server.descriptors - 50, "\(open) descriptors")
        held = []
        #expect(HTTPAnswer(try await waiting.read(within: .seconds(60))).status == 200)
        let result = try await program.end()
        #expect(
            result.code == 0 && result.errors.contains("HTTP server closed a new connection at once"),
            "\(result.code) \(result.errors)")
    }

    /// The programs raise their limit of descriptors to the system's maximum.
    @Test func theLimitInForceIsRaised() async throws {
        let broker = try await MosquittoProcess.start()
        let program = Programs.root.appending(path: ".build/debug/godwit").path()
        let watch = try RunningProgram(
            "/bin/sh", ["-c", "ulimit -Sn 128 && exec '\(program)' watch van --silent --broker \(broker.url)"])
        try await waitUntil {
            let limits = try String(contentsOfFile: "/proc/\(watch.id)/limits", encoding: .utf8)
            let row = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
            let words = row?.split(separator: " ") ?? []
            return words.count > 4 && words[3] == words[4]
        }
        try await watch.end()
    }
}
