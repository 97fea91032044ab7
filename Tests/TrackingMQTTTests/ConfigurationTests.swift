import Testing
import TrackingCore
import TrackingMQTT

/// The rejection of values that would prevent a connection or retry it without a pause.
@Suite struct ConfigurationTests {
    @Test func theDefaultsAreInRange() throws {
        try TestClient.configuration("van", port: 1883).validate()
    }

    @Test(arguments: ["connectTimeout", "answerTimeout", "firstWait", "longestWait"])
    func aTimeIsAboveZero(_ name: String) throws {
        for time in [Duration.zero, .seconds(-1)] {
            var configuration = try TestClient.configuration("van", port: 1883)
            switch name {
            case "connectTimeout": configuration.connectTimeout = time
            case "answerTimeout": configuration.answerTimeout = time
            case "firstWait": configuration.firstWait = time
            default: configuration.longestWait = time
            }
            let error = #expect(throws: TrackingError.self) { try configuration.validate() }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.hasPrefix(name) == true)
        }
    }

    @Test(arguments: [0, -1]) func aPacketHasASize(_ size: Int) throws {
        var configuration = try TestClient.configuration("van", port: 1883)
        configuration.limits.packetSize = size
        #expect(throws: TrackingError.self) { try configuration.validate() }
    }
}
