import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct SerialReceiverTests {
    private static let queries = Array("$PMTK605*31\r\n$PUBX,00*33\r\n".utf8)
    private static let mediaTek = NMEASentence.other(address: "PMTK705", fields: ["AXN_2.31"])
    private static let ublox = NMEASentence.other(
        address: "GNTXT", fields: ["01", "01", "02", "u-blox AG - www.u-blox.com"])

    @Test func nothingIsSentUntilAResolutionIsWanted() {
        var machine = SerialReceiverStateMachine(speed: 9600, resolution: nil)
        #expect(machine.opened() == [])
        #expect(machine.received(Self.mediaTek) == [])
        #expect(machine.resolutionChanged(to: .every(milliseconds: 2000)) == Array("$PMTK220,2000*1C\r\n".utf8))
    }

    @Test func aReceiverIsFirstAskedWhoItIs() {
        var machine = SerialReceiverStateMachine(speed: 9600, resolution: .every(milliseconds: 5000))
        #expect(machine.opened() == Self.queries)
        #expect(machine.resolutionChanged(to: .every(milliseconds: 1000)) == [])
        #expect(machine.received(.other(address: "GPGSV", fields: [])) == [])
        #expect(machine.received(Self.mediaTek) == Array("$PMTK220,1000*1F\r\n".utf8))
        #expect(machine.received(Self.mediaTek) == [])
        #expect(machine.resolutionChanged(to: .every(milliseconds: 1000, .low)) == [])
        // 9,600 bits a second hold no more than a burst a second; ten seconds is what they can all do.
        #expect(machine.resolutionChanged(to: .every(milliseconds: 100)) == [])
        #expect(machine.resolutionChanged(to: .every(milliseconds: 60_000)) == Array("$PMTK220,10000*2F\r\n".utf8))
    }

    @Test func aUbloxReceiverGetsUBXMessages() {
        var machine = SerialReceiverStateMachine(speed: 115_200, resolution: .every(milliseconds: 100))
        _ = machine.opened()
        let message: [UInt8] = [0xB5, 0x62, 0x06, 0x08, 0x06, 0x00, 0xC8, 0x00, 0x01, 0x00, 0x01, 0x00, 0xDE, 0x6A]
        #expect(machine.received(Self.ublox) == message)
        #expect(machine.resolutionChanged(to: .every(milliseconds: 1000)).prefix(8).suffix(2) == [0xE8, 0x03])
    }

    /// A receiver that loses its power while the line stays open returns to its own cycle.
    @Test func aReceiverThatRestartsGetsTheCycleAgain() {
        var machine = SerialReceiverStateMachine(speed: 9600, resolution: .every(milliseconds: 5000))
        _ = machine.opened()
        let reported = Array("$PMTK220,5000*1B\r\n".utf8)
        #expect(machine.received(Self.mediaTek) == reported)
        #expect(machine.received(.other(address: "PMTK001", fields: ["220", "3"])) == [], "its answer")
        #expect(machine.received(.other(address: "PMTK010", fields: ["002"])) == [])
        #expect(machine.received(.other(address: "PMTK010", fields: ["001"])) == reported)
        var other = SerialReceiverStateMachine(speed: 9600, resolution: .every(milliseconds: 5000))
        _ = other.opened()
        let rate = other.received(Self.ublox)
        #expect(!rate.isEmpty && other.received(Self.ublox) == rate)
        #expect(other.received(.other(address: "GNTXT", fields: ["01", "01", "02", "ANTSTATUS=OK"])) == [])
    }
}
