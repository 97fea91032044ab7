import Foundation
import TestSupport
import Testing

/// `godwit certify` at real Mosquitto brokers: its output, its exit codes, and its silence about credentials.
@Suite(.timeLimit(.minutes(5))) struct CertifyTests {
    /// The certificate as `--format json` prints it.
    private struct Printed: Decodable {
        struct Check: Decodable {
            let check: String
            let verdict: String
            let result: String
            let consequence: String?
        }
        let broker: String
        let usable: Bool
        let checks: [Check]
    }

    @Test func theTableNamesEveryCheckAndTheExitCodeIsZero() async throws {
        let broker = try await MosquittoProcess.start()
        let result = try await Programs.run(
            "godwit", ["certify", "mqtt://me:secret-password@127.0.0.1:\(broker.port)"])
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.lines.first?.hasPrefix("check ") == true)
        #expect(result.lines.last == "Godwit may be used on mqtt://127.0.0.1:\(broker.port).")
        #expect(result.lines.contains { $0.hasPrefix("acknowledged ") && $0.contains("3000 messages arrived") })
        #expect(!(result.output + result.errors).contains("secret-password"))
        let page = try String(
            contentsOf: Programs.root.appending(path: "docs/reference/certificates.md"), encoding: .utf8)
        for line in result.lines.dropFirst().dropLast() {
            let check = line.prefix { $0 != " " }
            #expect(page.contains("| `\(check)` |"), "\(check)")
        }
    }

    /// Two brokers that are not joined pass all checks but those of a cluster.
    @Test func aBrokerThatLacksARequiredPropertyHasAnExitCode() async throws {
        let brokers = [try await MosquittoProcess.start(), try await MosquittoProcess.start()]
        let result = try await Programs.run("godwit", ["certify", "--format", "json"] + brokers.map(\.url))
        #expect(result.code == 1, "\(result.errors)")
        let printed = try JSONDecoder().decode(Printed.self, from: Data(result.output.utf8))
        #expect(printed.broker == brokers[0].url && !printed.usable)
        let failed = printed.checks.filter { $0.verdict == "failed" }
        #expect(failed.map(\.check) == ["elsewhere"])
        #expect(failed.allSatisfy { $0.consequence != nil && $0.result.contains("500") })
    }

    @Test(arguments: [
        (["certify", "mqtt://127.0.0.1:1"], 69, "Connection refused"),
        (["certify", "http://127.0.0.1:1"], 64, "begins with neither mqtt:// nor mqtts://"),
        (["certify", "mqtt://a", "mqtt://b", "mqtt://c"], 64, "give one address of the broker"),
        (["certify", "mqtt://a", "--root", "a/+"], 64, "topic root"),
    ])
    func aWrongUseHasAnExitCodeAndAReason(arguments: [String], code: Int32, reason: String) async throws {
        let result = try await Programs.run("godwit", arguments)
        #expect(result.code == code && result.errors.contains(reason), "\(result.errors)")
    }
}
