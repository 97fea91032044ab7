import TestSupport
import Testing
import TrackingCore

@testable import TrackingControl

@Suite struct AgentStatusTests {
    @Test func aStatusArrivesAsItWas() throws {
        let status = Samples.status
        let bytes = JSONValue.object(status.members).json
        #expect(try AgentStatus(members: try #require(JSONValue(json: bytes).object)) == status)
        let bare = AgentStatus(
            time: UnixTime(1), isOn: false, connection: .init(isUp: true, broker: "mqtt://h:1"), mode: .custom)
        #expect(try AgentStatus(members: bare.members) == bare)
    }

    @Test func aMissingMemberIsNamed() {
        var members = Samples.status.members
        members["on"] = nil
        #expect(
            throws: TrackingError(
                .invalidPayload,
                "cannot read the agent's status: its member 'on' must be true or false. Use programs of the same version"
            )
        ) {
            try AgentStatus(members: members)
        }
        members = Samples.status.members
        members["mode"] = .text("FAST")
        #expect(
            throws: TrackingError(
                .invalidPayload,
                "cannot read the agent's status: its member 'mode' must be one of ACTIVE, BALANCED, PASSIVE, CUSTOM. Use programs of the same version"
            )
        ) {
            try AgentStatus(members: members)
        }
    }

    @Test func theCurrentTripIsListedBeforeTheLast() {
        var status = Samples.status
        var ended = Samples.trip
        ended.state = .ended
        ended.start = UnixTime(1_800_000_000)
        status.trackables[1].trip = ended
        #expect(status.trip == Samples.trip)
        status.trackables[0].trip?.state = .ended
        #expect(status.trip == ended)
    }

    @Test func theMetricsAreInPrometheusForm() throws {
        let lines = Samples.status.metrics.split(separator: "\n").map(String.init)
        for line in [
            "# TYPE godwit_on gauge", "godwit_on 1", "godwit_connected 0", "godwit_queue_records{kind=\"point\"} 3",
            "godwit_queue_oldest_timestamp_seconds 1699999999.5", "# TYPE godwit_dropped_records_total counter",
            "godwit_dropped_records_total 7", "godwit_unwritten_records_total 2", "godwit_battery_ratio 0.83",
            "godwit_trackable_state{state=\"ONLINE\",trackable=\"van \\\"7\\\"\"} 1",
            "godwit_trackable_state{state=\"FAILED\",trackable=\"van \\\"7\\\"\"} 0",
            "godwit_trackable_interval_seconds{trackable=\"van \\\"7\\\"\"} 1",
            "godwit_trip_distance_meters{trackable=\"van \\\"7\\\"\"} 1234.5",
            "godwit_trip_active{trackable=\"van-8\"} 0",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        // Each sample has a name, labels and a number, and follows the type of its name. A name appears once.
        var types: [String] = []
        for line in lines where !line.hasPrefix("# HELP") {
            if let match = line.wholeMatch(of: #/# TYPE ([a-z_]+) (gauge|counter)/#) {
                types.append(String(match.1))
            } else {
                let match = try #require(line.wholeMatch(of: #/([a-z_]+)(\{.*\})? -?[0-9.e+-]+/#), "\(line)")
                #expect(String(match.1) == types.last)
            }
        }
        #expect(Set(types).count == types.count)
        #expect(!Samples.status.metrics.contains("52.1"), "no coordinates")
    }
}
