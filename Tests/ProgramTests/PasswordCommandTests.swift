import ArgumentParser
import Foundation
import Testing
import TrackingCore
import TrackingMQTT

@testable import GodwitOptions

/// The program of `--password-command`: its output, its limits, and the errors that name its faults.
@Suite(.timeLimit(.minutes(5))) struct PasswordCommandTests {
    /// A folder for one test, removed at its end.
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appending(path: "godwit-command-\(UUID().uuidString)")
        init() throws { try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: self.url) }

        /// Returns a command that runs a shell script.
        func command(_ script: String) throws -> PasswordCommand {
            let file = self.url.appending(path: "script").path()
            try "\(script)\n".write(toFile: file, atomically: true, encoding: .utf8)
            return try #require(PasswordCommand(argument: "sh \(file)"))
        }
    }

    private func failure(_ script: String, within limit: Duration = .seconds(60)) async throws -> String {
        let folder = try Folder()
        let command = try folder.command(script)
        let error = await #expect(throws: TrackingError.self) { try await command.password(of: "box", within: limit) }
        #expect(error?.code == .inputUnreadable && error?.message.contains("--password-command") == true)
        return error?.message ?? ""
    }

    @Test(arguments: [
        ("echo one", "one"), ("printf 'one\\r\\ntwo\\n'", "one"), ("printf one", "one"), ("printf ' a b '", " a b "),
        ("cat; echo $GODWIT_USER", "box"), ("echo $GODWIT_SECRET-", "-"), ("echo x >&2; echo one", "one"),
    ])
    func theFirstLineIsThePassword(script: String, password: String) async throws {
        let folder = try Folder()
        setenv("GODWIT_SECRET", "hunter2", 1)
        defer { unsetenv("GODWIT_SECRET") }
        #expect(try await folder.command(script).password(of: "box") == password)
    }

    /// The pipe is still open in a process of its own group.
    @Test func aProcessThatRemainsDoesNotDelayThePassword() async throws {
        let folder = try Folder()
        let start = ContinuousClock.now
        let command = try folder.command("sleep 300 & echo $! > \(folder.url.path())/id; echo one")
        #expect(try await command.password(of: "box", within: .seconds(120)) == "one")
        #expect(ContinuousClock.now - start < .seconds(100))
        let id = try String(contentsOf: folder.url.appending(path: "id"), encoding: .utf8)
        if let id = Int32(id.dropLast()) { kill(id, SIGKILL) }
    }

    @Test func aFailureNamesTheLastLineOfTheErrors() async throws {
        let message = try await self.failure("echo first >&2; printf 'vault is sealed\\n\\n' >&2; exit 3")
        #expect(message.hasSuffix("the program ended with exit code 3: vault is sealed"), "\(message)")
        #expect(try await !self.failure("echo hunter2; echo no hunter2 >&2; exit 1").contains("hunter2"))
        #expect(try await self.failure("kill -TERM $$").hasSuffix("signal 15 ended the program"))
        #expect(try await self.failure("printf '\\033[2J' >&2; exit 1").contains("\\u001b"))
        #expect(try await self.failure("yes x | head -c 9000 | tr -d '\\n' >&2; exit 1").utf8.count < 500)
    }

    @Test func anEmptyLineATooLongOutputAndATooLongRunAreErrors() async throws {
        #expect(try await self.failure("echo").contains("the first line of its output is empty"))
        #expect(try await self.failure("true").contains("the first line of its output is empty"))
        #expect(try await self.failure("cat /dev/zero").contains("more than 65535 bytes"))
        #expect(try await self.failure("head -c 65536 /dev/zero").contains("more than 65535 bytes"))
        #expect(try await self.failure("sleep 300", within: .milliseconds(100)).contains("did not end within"))
    }

    @Test func aProgramThatIsMissingIsNamed() async throws {
        let command = try #require(PasswordCommand(argument: "/nonexistent/vault token"))
        let error = await #expect(throws: TrackingError.self) { try await command.password(of: "box") }
        #expect(
            error?.message
                == "cannot get the password for the broker from '/nonexistent/vault' (--password-command): the program cannot be started: No such file or directory"
        )
    }

    @Test func aCommandIsItsWords() {
        #expect(PasswordCommand(argument: " /a/b\t-c  'd e' ")?.words == ["/a/b", "-c", "'d", "e'"])
        #expect(PasswordCommand(argument: " ") == nil)
    }

    // MARK: - Options

    private static let box = ["--broker", "mqtt://box@127.0.0.1"]

    @Test func aCommandExcludesEveryOtherPassword() throws {
        let command = ["--password-command", "vault"]
        let options = try BrokerOptions.parse(Self.box + command)
        #expect(try options.login()?.password == nil && options.hasPassword && options.hasChangingCredentials)
        for other in [["--broker", "mqtt://box:one@127.0.0.1"], Self.box + ["--password", "one"], []] {
            #expect(throws: (any Error).self) { try BrokerOptions.parse(other + command) }
        }
        let file = try Folder().url.appending(path: "password")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        try "one\n".write(to: file, atomically: true, encoding: .utf8)
        let both = try BrokerOptions.parse(Self.box + command + ["--password-file", file.path()])
        #expect(throws: TrackingError.self) { try both.login() }
        // The packaged services always name a password file, which may be empty.
        try "\n".write(to: file, atomically: true, encoding: .utf8)
        #expect(try both.login()?.password == nil)
    }

    @Test func thePasswordFileIsReadAnew() async throws {
        let folder = try Folder()
        let file = folder.url.appending(path: "password")
        try "one\n".write(to: file, atomically: true, encoding: .utf8)
        let options = try BrokerOptions.parse(Self.box + ["--password-file", file.path()])
        #expect(options.hasChangingCredentials)
        let provider = try #require(options.credentialsProvider(of: "box"))
        #expect(try await provider() == MQTTCredentials(user: "box", password: "one"))
        try "two\n".write(to: file, atomically: true, encoding: .utf8)
        #expect(try await provider().password == "two")
        try FileManager.default.removeItem(at: file)
        await #expect(throws: TrackingError.self) { try await provider() }
    }

    @Test func aPasswordOfTheAddressOrTheEnvironmentDoesNotChange() throws {
        #expect(try !BrokerOptions.parse(["--broker", "mqtt://box:one@127.0.0.1"]).hasChangingCredentials)
        #expect(try !BrokerOptions.parse(Self.box + ["--password", "one"]).hasChangingCredentials)
        #expect(try !BrokerOptions.parse([]).hasChangingCredentials)
        // Only a regular file can be read again.
        #expect(try !BrokerOptions.parse(Self.box + ["--password-file", "/dev/null"]).hasChangingCredentials)
    }

    @Test(arguments: ["password: PASSWORD\nbroker: mqtt://x", "password: other\nwatch:\n  password: PASSWORD"])
    func thePasswordOfTheConfigurationFileIsReadAnew(text: String) async throws {
        let folder = try Folder()
        let file = folder.url.appending(path: "godwit.yaml")
        func write(_ password: String) throws {
            try text.replacing("PASSWORD", with: password).write(to: file, atomically: true, encoding: .utf8)
        }
        try write("one")
        let options = try BrokerOptions.parse(Self.box + ["--password", "one", "--config", file.path()])
        let provider = try #require(options.credentialsProvider(of: "box"))
        try write("two")
        #expect(try await provider().password == "two")
        try "password: [".write(to: file, atomically: true, encoding: .utf8)
        await #expect(throws: TrackingError.self) { try await provider() }
        // A password of the environment wins over the file, and does not change.
        #expect(PasswordSetting("two", in: file.path(), environment: ["GODWIT_PASSWORD": "two"]) == nil)
    }
}
