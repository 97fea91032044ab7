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
        #expect(machine.resolutionChanged(to: .every(milliseconds: 1000, .low)) == Array("$PMTK313,0*2F\r\n".utf8))
        #expect(machine.resolutionChanged(to: .every(milliseconds: 1000)) == Array("$PMTK313,1*2E\r\n".utf8))
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

    @Test func aReceiverThatDoesNotAnswerIsAskedASecondTime() {
        var machine = SerialReceiverStateMachine(speed: 9600, resolution: .every(milliseconds: 5000))
        #expect(machine.opened() == Self.queries)
        let answers = (1...12).map { _ in machine.received(.other(address: "GPGSV", fields: [])) }
        #expect(answers.filter { !$0.isEmpty } == [Self.queries])
        #expect(machine.sleep(for: .seconds(60)) == [] && !machine.canSleep)
    }

    /// UBX-CFG-RXM 8 1 is cyclic tracking in power save mode, and 8 0 is continuous tracking.
    @Test func aUbloxReceiverSavesPowerWhenLittleAccuracyIsWanted() {
        var machine = SerialReceiverStateMachine(speed: 9600, resolution: .every(milliseconds: 1000))
        _ = machine.opened()
        _ = machine.received(Self.ublox)
        let saving: [UInt8] = [0xB5, 0x62, 0x06, 0x11, 0x02, 0x00, 0x08, 0x01, 0x22, 0x92]
        let continuous: [UInt8] = [0xB5, 0x62, 0x06, 0x11, 0x02, 0x00, 0x08, 0x00, 0x21, 0x91]
        #expect(machine.resolutionChanged(to: .every(milliseconds: 1000, .minimum)) == saving)
        #expect(machine.resolutionChanged(to: .every(milliseconds: 1000, .low)) == [])
        #expect(machine.resolutionChanged(to: .every(milliseconds: 1000, .balanced)) == continuous)
        let rate = machine.resolutionChanged(to: .every(milliseconds: 5000, .low))
        #expect(rate.starts(with: [0xB5, 0x62, 0x06, 0x08]) && rate.count == 14, "cyclic tracking has a cycle of 1 s")
    }

    @Test func aUbloxReceiverSleepsForADurationAndGetsItsSettingsWhenItIsAwake() {
        var machine = SerialReceiverStateMachine(speed: 9600, resolution: .every(milliseconds: 5000))
        _ = machine.opened()
        let rate = machine.received(Self.ublox)
        // Version 0, three reserved bytes, 110,000 ms, the flag for the backup mode, and the line as wake-up source.
        #expect(
            machine.sleep(for: .seconds(110)) == [
                0xB5, 0x62, 0x02, 0x41, 0x10, 0x00, 0, 0, 0, 0, 0xB0, 0xAD, 0x01, 0x00, 2, 0, 0, 0, 8, 0, 0, 0, 0xBB,
                0x04,
            ])
        #expect(machine.resolutionChanged(to: .every(milliseconds: 5000)) == [], "a command would wake it")
        #expect(machine.received(.other(address: "GPGSV", fields: [])) == [], "the rest of a burst")
        #expect(machine.wake() == [0xFF])
        #expect(machine.resolutionChanged(to: .every(milliseconds: 5000)) == [], "it is starting")
        #expect(machine.received(.other(address: "GPGSV", fields: [])) == rate)
        let forever = machine.sleep(for: nil)
        #expect(forever[10..<14] == [0, 0, 0, 0])
        let longest = machine.sleep(for: .seconds(365 * 86_400))
        #expect(longest[10..<14] == [0x00, 0x50, 0xCC, 0x3D], "12 days")
    }

    @Test func aMediaTekReceiverGoesToStandby() {
        var machine = SerialReceiverStateMachine(speed: 9600, resolution: .every(milliseconds: 1000, .low))
        _ = machine.opened()
        let settings = Array("$PMTK220,1000*1F\r\n$PMTK313,0*2F\r\n".utf8)
        #expect(machine.received(Self.mediaTek) == settings)
        #expect(machine.sleep(for: .seconds(110)) == Array("$PMTK161,0*28\r\n".utf8))
        #expect(machine.wake() == Array("$PMTK225,0*2B\r\n".utf8))
        #expect(machine.received(.other(address: "PMTK010", fields: ["002"])) == settings)
    }
}
