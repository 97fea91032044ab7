import Foundation
import TestSupport
import Testing

/// The files of `ops/`, with the real promtool and the metrics of the programs.
@Suite(.timeLimit(.minutes(5))) struct OpsTests {
    @Test func theAlertsAreSoundAndEachIsTried() async throws {
        let cases = try Self.text("ops/alerts_test.yml")
        let alerts = try Self.text("ops/alerts.yml").matches(of: #/alert: (\w+)/#).map(\.1)
        #expect(!alerts.isEmpty)
        for alert in alerts { #expect(cases.contains("alertname: \(alert)\n"), "\(alert) has no case") }
        for arguments in [["check", "rules", "ops/alerts.yml"], ["test", "rules", "ops/alerts_test.yml"]] {
            let result = try await Self.promtool(arguments)
            #expect(result.code == 0, "\(result.output) \(result.errors)")
        }
    }

    /// Each metric of the dashboard and the alerts is served from the start, before any failure.
    @Test func everyFigureIsServed() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder(["--listen", "127.0.0.1:0"])
        let secret = stage.folder.appending(path: "secret")
        try "a secret of enough bytes\n".write(to: secret, atomically: true, encoding: .utf8)
        let gateway = try Programs.start(
            "godwit",
            [
                "serve", "--broker", stage.broker.url, "--listen", "127.0.0.1:0", "--no-store", "--state",
                stage.folder.path(), "--webhook", "http://127.0.0.1:1/hook", "--webhook-secret-file",
                secret.path(),
            ])
        var served: Set<String> = []
        for program in [recorder, gateway] {
            try await program.waitForLog("listening on http://127.0.0.1:")
            let match = try #require(program.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#))
            let port = try #require(Int(match.1))
            // A request is counted after its answer.
            _ = try await HTTPAnswer.of("/healthz", port: port)
            let page = try await HTTPAnswer.of("/metrics", port: port).text
            served.formUnion(page.matches(of: #/(?m)^(godwit_[a-z_]+)[{ ]/#).map { String($0.1) })
        }
        for file in ["ops/alerts.yml", "ops/dashboard.json"] {
            let asked = Set(try Self.text(file).matches(of: #/godwit_[a-z_]+/#).map { String($0.0) })
            #expect(
                !asked.isEmpty && asked.subtracting(served).isEmpty, "\(file): \(asked.subtracting(served).sorted())")
        }
        withExtendedLifetime((recorder, gateway)) {}
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Programs.root.appending(path: path), encoding: .utf8)
    }

    private static func promtool(_ arguments: [String]) async throws -> Programs.Result {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        let unpacked = "\(cache)/godwit/prometheus/usr/bin/promtool"
        let path = ["/usr/bin/promtool", unpacked].first { FileManager.default.isExecutableFile(atPath: $0) }
        let tool = try #require(path, "promtool is missing: scripts/setup-tests puts it at \(unpacked)")
        let absolute = arguments.map { $0.hasPrefix("ops/") ? Programs.root.appending(path: $0).path() : $0 }
        return try await RunningProgram(tool, absolute).result(within: .seconds(60))
    }
}
