import Foundation
import TestSupport
import Testing

/// After `godwit erase`, no file of the history or of a gateway contains a byte of an erased place.
@Suite(.timeLimit(.minutes(10))) struct EraseFilesTests {
    private static let (latitude, longitude) = (52.71283641, -8.63158257)

    /// Every representation of the place in a file: as text, as a double, and as a whole number of 1e-7 degrees.
    private static var patterns: [Data] {
        var patterns = ["52.71283641", "8.63158257", "527128364", "86315825"].map { Data($0.utf8) }
        for number in [Self.latitude, Self.longitude] {
            withUnsafeBytes(of: number.bitPattern.bigEndian) { patterns.append(Data($0)) }
            withUnsafeBytes(of: number.bitPattern.littleEndian) { patterns.append(Data($0)) }
            let degrees = Int32((number * 1e7).rounded())
            withUnsafeBytes(of: degrees.bigEndian) { patterns.append(Data($0)) }
            withUnsafeBytes(of: degrees.littleEndian) { patterns.append(Data($0)) }
        }
        return patterns
    }

    /// The files below a folder that contain the place.
    private static func filesHoldingThePlace(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).filter { file in
            guard file.lastPathComponent.contains("sqlite") else { return false }
            let bytes = try Data(contentsOf: file)
            return Self.patterns.contains { bytes.range(of: $0) != nil }
        }.map(\.lastPathComponent).sorted()
    }

    private static func serve(_ stage: RecordStage) async throws -> (program: RunningProgram, port: Int) {
        // No server listens at the webhook's address, so that its messages wait.
        let program = try Programs.start(
            "godwit",
            [
                "serve", "--broker", stage.broker.url, "--listen", "127.0.0.1:0", "--store", stage.address,
                "--acknowledge-by", "keeper", "--state", stage.folder.path(), "--webhook", "http://127.0.0.1:1/hook",
            ], environment: ["GODWIT_WEBHOOK_SECRET": "0123456789abcdef"])
        try await program.waitForLog("listening on http://127.0.0.1:")
        let match = try #require(program.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#))
        return (program, try #require(Int(match.1)))
    }

    /// Sends fixes around the place, and one that the gateway rejects.
    private static func send(to port: Int, token: String, from time: Int) async throws {
        let fixes = (0..<200).map { index in
            """
            {"type":"Feature","geometry":{"type":"Point","coordinates":[\(Self.longitude),\(Self.latitude)]},\
            "properties":{"time":\(time + index)}}
            """
        }
        let wrong = """
            {"type":"Feature","geometry":{"type":"Point","coordinates":[\(Self.longitude),\(Self.latitude),"high"]},\
            "properties":{"time":"never"}}
            """
        let answer = try await LoopbackHTTP.request(
            "POST", "/points", port: port, headers: ["Authorization": "Bearer \(token)"],
            body: (fixes + [wrong]).joined(separator: "\n"), within: .seconds(60))
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test(arguments: [true, false]) func noByteOfAnErasedPlaceIsLeft(isRunning: Bool) async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let state = ["--state", stage.folder.path()]
        let made = try await Programs.run("godwit", ["token", "create", "--name", "phone", "--publish", "van"] + state)
        let token = try #require(made.lines.first)
        let (gateway, port) = try await Self.serve(stage)
        try await Self.send(to: port, token: token, from: Int(Date().timeIntervalSince1970) - 600)
        try await waitUntil { try Self.filesHoldingThePlace(stage.folder).contains { $0.hasPrefix("gateway.sqlite") } }
        let holding = try Self.filesHoldingThePlace(stage.folder)
        #expect(holding.contains { $0.hasPrefix("gateway-spool.sqlite") }, "\(holding)")
        #expect(holding.contains { $0.hasPrefix("history.sqlite") }, "\(holding)")
        if !isRunning { #expect(try await gateway.end().code == 0, "\(gateway.errors)") }
        let erased = try await Programs.run(
            "godwit", ["erase", "van", "--yes", "--broker", stage.broker.url, "--store", stage.address] + state)
        #expect(erased.code == 0 && !erased.output.contains("not erased"), "\(erased.output) \(erased.errors)")
        #expect(try Self.filesHoldingThePlace(stage.folder) == [])
        if isRunning {
            // The gateway continues, and stores new records.
            try await Self.send(to: port, token: token, from: Int(Date().timeIntervalSince1970) + 1)
            #expect(try await gateway.end().code == 0, "\(gateway.errors)")
        }
        try await stage.end(recorder)
    }

    /// A running gateway detects the erasures of the history, also if the command is not given the gateway's folder.
    @Test func aGatewayErasesWhatTheHistoryHasErased() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let made = try await Programs.run(
            "godwit", ["token", "create", "--name", "phone", "--publish", "van", "--state", stage.folder.path()])
        let (gateway, port) = try await Self.serve(stage)
        try await Self.send(
            to: port, token: try #require(made.lines.first), from: Int(Date().timeIntervalSince1970) - 600)
        let erased = try await Programs.run(
            "godwit", ["erase", "van", "--yes", "--broker", stage.broker.url, "--store", stage.address])
        #expect(erased.code == 0, "\(erased.output) \(erased.errors)")
        try await waitUntil(within: .seconds(60)) { try Self.filesHoldingThePlace(stage.folder).isEmpty }
        #expect(try await gateway.end().code == 0, "\(gateway.errors)")
        try await stage.end(recorder)
    }
}
