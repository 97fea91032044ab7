import TrackingCore
import TrackingMQTT

/// The retained messages of a fleet `van-0`, `van-1` and so on, as a publisher sends them.
enum FleetMessages {
    /// The liveness of a publisher.
    static func liveness(of client: String) -> OutgoingMessage {
        self.retained(
            "tracking/_clients/\(client)", #"{"status":"online","session":"one","connection":0,"lease":3600}"#)
    }

    /// The presence of a publisher on a trackable.
    static func presence(of client: String, on number: Int) -> OutgoingMessage {
        self.retained(
            "tracking/van-\(number)/publisher/\(client)",
            #"{"type":"PUBLISHER","session":"one","connection":0,"lease":3600,"since":5,"stream":"s\#(number)"}"#)
    }

    /// The resolution in force of a trackable.
    ///
    /// - Parameter interval: The desired interval, in milliseconds.
    static func resolution(of number: Int, _ accuracy: Resolution.Accuracy, interval: Int) -> OutgoingMessage {
        self.retained(
            "tracking/van-\(number)/resolution",
            #"{"resolution":{"accuracy":"\#(accuracy.rawValue)","desiredInterval":\#(interval),"#
                + #""minimumDisplacement":0},"near":false,"subscribers":0,"lowBattery":false,"state":"ONLINE","#
                + #""filter":"both","maximumSilence":86400000}"#)
    }

    /// The position of a trackable.
    ///
    /// - Parameter time: The time of the position, in seconds of Unix time.
    static func position(
        of number: Int, latitude: Double, longitude: Double, time: Double, seq: Int
    ) -> OutgoingMessage {
        self.retained(
            "tracking/van-\(number)",
            #"{"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[\#(longitude),\#(latitude)]},"#
                + #""properties":{"time":\#(time),"seq":\#(seq),"stream":"s\#(number)"}},"#
                + #""skippedLocations":[],"type":"ACTUAL"}"#)
    }

    private static func retained(_ topic: String, _ text: String) -> OutgoingMessage {
        OutgoingMessage(topic: topic, payload: Array(text.utf8), isRetained: true)
    }
}
