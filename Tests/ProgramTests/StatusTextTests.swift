import GodwitOptions
import TestSupport
import Testing
import TrackingControl
import TrackingCore

@testable import godwit_agent

@Suite struct StatusTextTests {
    @Test func everyValueHasALine() {
        #expect(
            StatusText(Samples.status, units: .metric).lines == [
                "agent         on",
                "connection    not connected to mqtt://127.0.0.1:1883, for 19675 d 22 h: refused",
                "recorders     history, backup",
                "mode          BALANCED",
                "receiver      HIGH/1000/2.5",
                "queued        3 points, 1 trip, 2 events, 4.1 KB; the oldest 1 min 40 s ago",
                "dropped       7",
                "log           cannot be written: the disk is full; 2 records could not be written since the start",
                "quarantined   1",
                "last attempt  10 s ago",
                "acknowledged  20 s ago",
                "last fix      52.100000,-8.200000, accuracy 3 m, altitude 20 m, 16.2 km/h, 5 s ago",
                "battery       83 %",
                "trip          bicycle, under way, 10 min 0 s, 1.2 km",
                "van \"7\"       ONLINE; HIGH/1000/2.5 (near, 2 watching); to 52.50000,-8.25000; 3 points queued",
                "van-8         OFFLINE; 0 points queued",
            ])
    }

    @Test func aSleepingReceiverHasTheTimeOfItsWaking() throws {
        var status = Samples.status
        for (wait, text) in [(90.0, TimeText.local), (200_000, TimeText.localDate)] {
            let until = status.time.advanced(by: .seconds(wait))
            status.receiverAsleepUntil = until
            let received = try AgentStatus(members: status.members)
            #expect(received == status && status.members["receiverAsleepUntil"]?.number == until.seconds)
            let time = text(until).prefix(wait > 86_400 ? 16 : 5)
            #expect(
                StatusText(received, units: .metric).lines.contains(
                    "receiver      HIGH/1000/2.5, asleep until \(time)"))
        }
    }

    @Test func figuresAreInTheUnitsThatAreAskedFor() {
        let lines = StatusText(Samples.status, units: .imperial).lines
        #expect(lines.contains { $0.contains("accuracy 10 ft, altitude 66 ft, 10.1 mph") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("trip") && $0.hasSuffix("4050 ft") }, "\(lines)")
    }

    @Test func whyTheBrokerRefusesIsSaid() throws {
        var status = Samples.status
        status.trackables[1].refusal = "refused the message: Not authorized (0x87)"
        let received = try AgentStatus(members: status.members)
        #expect(
            StatusText(received, units: .metric).lines.last
                == "van-8         OFFLINE; 0 points queued; refused: refused the message: Not authorized (0x87)")
    }

    @Test func unknownValuesAreShownAsUnknown() {
        let status = AgentStatus(
            time: UnixTime(1), isOn: false, connection: .init(isUp: true, broker: "mqtt://h:1"), mode: .custom)
        let lines = StatusText(status, units: .metric).lines
        #expect(lines.contains("agent         off"))
        #expect(lines.contains("recorders     none named: the broker acknowledges records"))
        #expect(lines.contains("receiver      not asked"))
        #expect(lines.contains("acknowledged  never"))
        #expect(lines.contains("last fix      none"))
        #expect(lines.contains("battery       unknown"))
        #expect(lines.contains("trip          none"))
    }

    @Test func aServerInPlaceOfABrokerIsNamed() {
        let status = AgentStatus(
            time: UnixTime(1), isOn: true, connection: .init(isUp: true, broker: "overland+https://h"), mode: .custom)
        let lines = StatusText(status, units: .metric).lines
        #expect(lines.contains("connection    sends to overland+https://h, without a broker"))
        #expect(lines.contains("recorders     none named: the server acknowledges records"))
    }

    @Test func textOfOthersCannotMoveTheCursor() {
        var status = Samples.status
        status.connection.reason = "\u{1B}[2J\r\n"
        status.trackables[0].trip?.mode = "\u{1B}]0;x\u{7}"
        for line in StatusText(status, units: .metric).lines {
            #expect(line.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }, "\(line.debugDescription)")
        }
    }

    @Test func spansAndSizesAreShort() {
        #expect(
            [0, 59, 60, 3599, 3600, 86_399, 90_000].map { StatusText.span(.seconds($0)) } == [
                "0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "23 h 59 min", "1 d 1 h",
            ])
        #expect(
            [0, 999, 1000, 999_999, 1_500_000].map { StatusText.size($0) } == [
                "0 B", "999 B", "1.0 KB", "1000.0 KB", "1.5 MB",
            ])
    }

    @Test func theKeysMeanWhatTheFooterSays() {
        var view = StatusView(units: .metric)
        #expect(view.lines(width: 80, height: 24).first == "waiting for the agent's state")
        view.received(Samples.status)
        #expect(view.lines(width: 80, height: 24).last == "o off, s send now, t end trip, q quit")
        #expect(view.pressed("o") == .ask(.off))
        #expect(view.pressed("s") == .ask(.sendNow))
        #expect(view.pressed("t") == .ask(.stopTrip))
        #expect(view.pressed("q") == .quit)
        #expect(view.pressed("x") == nil)
        var status = Samples.status
        status.isOn = false
        status.trackables[0].trip?.state = .ended
        view.received(status)
        #expect(view.lines(width: 80, height: 24).last == "o on, s send now, t start trip, q quit")
        #expect(view.pressed("o") == .ask(.on))
        #expect(view.pressed("t") == .ask(.startTrip))
        view.answered(.sendNow, CommandFailure(.notConnected, "no connection"))
        #expect(view.lines(width: 80, height: 24).contains("SEND_NOW: no connection"))
        #expect(view.lines(width: 10, height: 24).allSatisfy { $0.count <= 10 })
    }

    /// A view that is higher than the terminal would scroll it.
    @Test func linesThatDoNotFitAreCounted() throws {
        var view = StatusView(units: .metric)
        var status = Samples.status
        status.trackables = try (10..<30).map { .init(id: try TrackableID("van-\($0)"), state: .online) }
        view.received(status)
        let lines = view.lines(width: 80, height: 24)
        #expect(lines.count == 23)
        #expect(lines[18].hasPrefix("van-14 ") && lines[19] == "… and 15 more" && lines[22].hasSuffix("q quit"))
        #expect(view.lines(width: 80, height: 38).count == 37)
        #expect(!view.lines(width: 80, height: 38).contains { $0.hasPrefix("…") })
        #expect(view.lines(width: 80, height: 1).count == 4)
    }

    @Test func aBarShowsHowFarItIs() {
        #expect(ProgressBar(done: 5, total: 10).text(width: 20) == "[######......] 5/10")
        #expect(ProgressBar(done: 0, total: 0).text(width: 20) == "[#############] 0/0")
        #expect(ProgressBar(done: 12, total: 10).text(width: 20).hasPrefix("[###########]"))
        #expect(ProgressBar(done: 1, total: 2).text(width: 3).count == 3)
    }

    @Test func anExportedRecordIsCopiedUnchanged() throws {
        let item = JSONValue.object([
            "trackable": .text("a"), "seq": .number(3), "record": .text("{\"extra\": 1.0}"),
        ])
        #expect(RecordList.line(item) == "{\"seq\":3,\"trackable\":\"a\",\"record\":{\"extra\": 1.0}}\n")
    }

    @Test func theTokenIsNotShownAmongTheChanges() {
        #expect(ChangeList.text(SettingChange(key: "password", before: nil, after: nil)) == "password: replaced")
        #expect(ChangeList.text(SettingChange(key: "broker", before: nil, after: "b")) == "broker: (not set) -> b")
    }
}
