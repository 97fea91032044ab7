import ArgumentParser
import Foundation
import Testing
import TrackingCore
import TrackingMQTT

@testable import GodwitOptions

/// The user and the password with which a program signs in at the broker.
@Suite struct BrokerLoginTests {
    /// The login of these options together with a password file of this text.
    private func login(_ text: String, _ arguments: String...) throws -> MQTTCredentials? {
        let file = FileManager.default.temporaryDirectory.appending(path: "gw-password-\(UUID().uuidString)").path()
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        return try BrokerOptions.parse(["--password-file", file] + arguments).login()
    }

    /// systemd gives an empty file where no credential was set.
    @Test(arguments: ["\n", ""]) func anEmptyPasswordFileIsNoPassword(text: String) throws {
        #expect(try self.login(text, "--broker", "mqtt://127.0.0.1") == nil)
        #expect(try self.login(text, "--broker", "mqtt://van-7@127.0.0.1")?.password == nil)
        let own = try self.login(text, "--broker", "mqtt://van-7@127.0.0.1", "--password", "hunter2")
        #expect(own?.user == "van-7" && own?.password == "hunter2")
    }

    @Test func theFilesPasswordWinsOverThatOfTheSettings() throws {
        let login = try self.login("one\n", "--broker", "mqtt://van-7@127.0.0.1", "--password", "two")
        #expect(login?.password == "one")
        let address = try self.login("one\n", "--broker", "mqtt://van-7:three@127.0.0.1", "--password", "two")
        #expect(address?.password == "three")
    }

    @Test func aPasswordWithoutAUserIsAnError() throws {
        let error = #expect(throws: TrackingError.self) {
            try self.login("one\n", "--broker", "mqtt://127.0.0.1")
        }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("without a user") == true)
        #expect(throws: (any Error).self) { try BrokerOptions.parse(["--password", "two"]) }
        #expect(throws: Never.self) { try BrokerOptions.parse(["--password", ""]) }
    }

    /// Only one of the addresses names the user with which the program signs in at all of them.
    @Test func theClientIDIsTheUserOfAnyAddress() throws {
        let options = try BrokerOptions.parse(["--broker", "mqtt://10.0.0.1", "--broker", "mqtt://van-7@10.0.0.2"])
        let identity = try options.identity()
        #expect(identity.client.rawValue == "van-7" && !identity.isRandom)
        #expect(try options.user?.user == "van-7")
    }
}
