import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct GPSDSessionTests {
    private func machine(_ resolution: Resolution?, asks: Bool = true) -> GPSDSessionStateMachine {
        GPSDSessionStateMachine(name: "gpsd://h:1", asksForCycle: asks, resolution: resolution)
    }

    private func line(_ text: String) -> LineSplitter.Line { .text(Array(text.utf8)[...], number: 1) }

    private static let start = MonotonicTime(.seconds(100))
    private static let devices =
        #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/a","activated":"2024-05-17T12:00:01Z","mincycle":0.25}]}"#

    @Test func aConnectionBeginsByWatching() {
        var machine = self.machine(nil)
        #expect(machine.connected(now: Self.start) == [.send("?WATCH={\"enable\":true,\"json\":true};\n")])
    }

    @Test(arguments: [
        (0, "0.250"), (100, "0.250"), (1000, "1.000"), (1500, "1.500"), (9999, "9.999"), (30_000, "10.000"),
    ])
    func theCycleIsTheIntervalWithinWhatTheReceiverCan(milliseconds: Int, cycle: String) {
        var machine = self.machine(.every(milliseconds: milliseconds))
        _ = machine.connected(now: Self.start)
        let expected = GPSDSessionStateMachine.Action.send("?DEVICE={\"path\":\"/dev/a\",\"cycle\":\(cycle)};\n")
        #expect(machine.received(self.line(Self.devices), now: Self.start) == [expected])
    }

    @Test func aCycleIsAskedForOnceAndAgainWhenItChanges() {
        var machine = self.machine(nil)
        _ = machine.connected(now: Self.start)
        #expect(machine.received(self.line(Self.devices), now: Self.start) == [])
        #expect(machine.resolutionChanged(to: .every(milliseconds: 2000)).count == 1)
        #expect(machine.resolutionChanged(to: .every(milliseconds: 2000, .maximum)) == [])
        #expect(machine.received(self.line(#"{"class":"DEVICE","path":"/dev/a","cycle":2.0}"#), now: Self.start) == [])
        #expect(machine.resolutionChanged(to: .every(milliseconds: 500)).count == 1)
    }

    @Test func aReceiverThatCameBackIsAskedAnew() {
        var machine = self.machine(.every(milliseconds: 2000))
        _ = machine.connected(now: Self.start)
        _ = machine.received(self.line(Self.devices), now: Self.start)
        _ = machine.received(self.line(#"{"class":"DEVICE","path":"/dev/b"}"#), now: Self.start)
        #expect(
            machine.received(self.line(#"{"class":"DEVICE","path":"/dev/b","activated":0}"#), now: Self.start) == [])
        #expect(
            machine.received(self.line(#"{"class":"DEVICE","path":"/dev/b","activated":1.5}"#), now: Self.start).count
                == 1)
    }

    @Test func aReceiverThatIsRecognisedLaterIsAskedAnew() {
        var machine = self.machine(.every(milliseconds: 2000))
        _ = machine.connected(now: Self.start)
        #expect(machine.received(self.line(Self.devices), now: Self.start).count == 1)
        let report = #"{"class":"DEVICE","path":"/dev/a","activated":1.5,"driver":"MTK-3301","subtype":"AXN_2.31"}"#
        #expect(machine.received(self.line(report), now: Self.start).count == 1)
        #expect(machine.received(self.line(report), now: Self.start) == [], "once a driver")
        #expect(machine.received(self.line(Self.devices), now: Self.start) == [], "no word of it is no news")
    }

    @Test func nothingIsAskedOfWhatIsToBeLeftAlone() {
        var machine = self.machine(.every(milliseconds: 2000), asks: false)
        #expect(machine.received(self.line(Self.devices), now: Self.start) == [])
        var quoted = self.machine(.every(milliseconds: 2000))
        #expect(quoted.received(self.line(#"{"class":"DEVICE","path":"/dev/\"a"}"#), now: Self.start) == [])
    }

    @Test func losingTheLastReceiverBreaksTheSource() {
        var machine = self.machine(nil)
        _ = machine.connected(now: Self.start)
        _ = machine.received(self.line(Self.devices), now: Self.start)
        let lost = #"{"class":"DEVICE","path":"/dev/a","activated":0}"#
        #expect(machine.received(self.line(lost), now: Self.start) == [])
        #expect(machine.deadline == Self.start.advanced(by: GPSDSessionStateMachine.patience))
        #expect(
            machine.timerFired(now: Self.start.advanced(by: GPSDSessionStateMachine.patience))
                == [
                    .fail(
                        TrackingError(
                            .inputUnreadable,
                            "no fixes from gpsd://h:1: gpsd lost its receiver /dev/a. Check the receiver and its cable"
                        ))
                ])
    }

    /// gpsd rejects the cycle of a receiver that it has not recognized, closes the receiver, and opens it again by
    /// itself.
    @Test func aReceiverThatIsUnknownAtFirstIsNotGivenUp() throws {
        var machine = self.machine(.every(milliseconds: 1000))
        _ = machine.connected(now: Self.start)
        let unknown = #"{"class":"DEVICE","path":"/dev/a","activated":"2024-05-17T12:00:01Z","native":0,"bps":4800}"#
        #expect(machine.received(self.line(unknown), now: Self.start).count == 1)
        for report in [
            #"{"class":"ERROR","message":"Type of /dev/a is unknown."}"#, unknown,
            #"{"class":"DEVICE","path":"/dev/a","activated":0}"#,
        ] {
            #expect(machine.received(self.line(report), now: Self.start) == [], "\(report)")
        }
        let later = Self.start.advanced(by: .seconds(3))
        #expect(machine.timerFired(now: later) == [])
        #expect(machine.received(self.line(unknown), now: later).count == 1)
        let known = #"{"class":"DEVICE","path":"/dev/a","driver":"u-blox","activated":"2024-05-17T12:00:04Z"}"#
        #expect(machine.received(self.line(known), now: later).count == 1, "the cycle is requested once more")
        let fix = #"{"class":"TPV","device":"/dev/a","mode":3,"time":"2024-05-17T12:00:05Z","lat":-45.9,"lon":170.5}"#
        guard case .deliver(.fix)? = machine.received(self.line(fix), now: later).first else {
            Issue.record("no fix")
            return
        }
        #expect(machine.timerFired(now: Self.start.advanced(by: .seconds(20))) == [])
    }

    @Test func gpsdWithoutAReceiverIsGivenSomeTime() {
        var machine = self.machine(nil)
        _ = machine.connected(now: Self.start)
        #expect(machine.received(self.line(#"{"class":"DEVICES","devices":[]}"#), now: Self.start) == [])
        #expect(machine.deadline == Self.start.advanced(by: GPSDSessionStateMachine.patience))
        #expect(machine.timerFired(now: Self.start.advanced(by: .seconds(9))) == [])
        #expect(
            machine.timerFired(now: Self.start.advanced(by: .seconds(10)))
                == [
                    .fail(
                        TrackingError(
                            .inputUnreadable,
                            "no fixes from gpsd://h:1: gpsd has no receiver. Check the receiver and its cable"))
                ])
        _ = machine.received(self.line(#"{"class":"DEVICE","path":"/dev/a","activated":1}"#), now: Self.start)
        #expect(machine.timerFired(now: Self.start.advanced(by: .seconds(29))) == [])
    }

    /// A stopped gpsd: the connection remains, and the kernel acknowledges its data.
    @Test func gpsdThatDoesNotAnswerAnyMoreBreaksTheSource() {
        var machine = self.machine(nil)
        _ = machine.connected(now: Self.start)
        _ = machine.received(self.line(Self.devices), now: Self.start)
        func after(_ seconds: Int) -> MonotonicTime { Self.start.advanced(by: .seconds(seconds)) }
        #expect(machine.timerFired(now: after(29)) == [])
        #expect(machine.deadline == after(30))
        #expect(machine.timerFired(now: after(30)) == [.send("?VERSION;\n")])
        let version = #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#
        #expect(machine.received(self.line(version), now: after(31)) == [])
        #expect(machine.timerFired(now: after(60)) == [], "a receiver may be silent")
        #expect(machine.timerFired(now: after(61)) == [.send("?VERSION;\n")])
        #expect(machine.timerFired(now: after(70)) == [])
        let error = TrackingError(.inputUnreadable, "no fixes from gpsd://h:1: gpsd no longer answers. Restart gpsd")
        #expect(machine.timerFired(now: after(71)) == [.fail(error)])
    }

    @Test func anotherProtocolIsRefused() {
        var machine = self.machine(nil)
        let actions = machine.received(
            self.line(#"{"class":"VERSION","release":"9.1","proto_major":4,"proto_minor":1}"#), now: Self.start)
        let error = TrackingError(
            .inputUnreadable,
            "cannot use gpsd://h:1: gpsd 9.1 uses protocol 4, and this program needs protocol 3. Install another release of gpsd"
        )
        #expect(actions == [.fail(error)])
    }

    @Test func whatIsNoReportIsSaidAndPassedOver() {
        var machine = self.machine(nil)
        #expect(
            machine.received(self.line("{]"), now: Self.start)
                == [.deliver(.badInput("line 1 of gpsd: the line is not a JSON report of gpsd"))])
        #expect(
            machine.received(.tooLong(number: 5), now: Self.start)
                == [.deliver(.badInput("line 5 of gpsd is longer than 65536 bytes"))])
        #expect(
            machine.received(self.line(#"{"class":"ERROR","message":"no"}"#), now: Self.start)
                == [.deliver(.badInput("gpsd reported the error: no"))])
    }
}
