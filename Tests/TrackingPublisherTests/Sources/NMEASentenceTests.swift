import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct NMEASentenceTests {
    private func read(_ body: String) throws -> NMEASentence {
        try NMEASentence(line: Array(Sentences.make(body).utf8)[...])
    }

    private func refusal(_ line: String) -> NMEASentence.Refusal? {
        do throws(NMEASentence.Refusal) {
            _ = try NMEASentence(line: Array(line.utf8)[...])
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["GP", "GN", "GL", "GA", "BD", "GB", "QZ", "IN"]) func everyTalkerIsUnderstood(talker: String)
        throws
    {
        guard
            case .gga(let gga) = try self.read(
                "\(talker)GGA,123519.25,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,")
        else {
            Issue.record("no GGA")
            return
        }
        #expect(gga.time?.milliseconds == 45_319_250)
        #expect(abs((gga.coordinate?.latitude ?? 0) - 48.1173) < 1e-9)
        #expect(abs((gga.coordinate?.longitude ?? 0) - 11.516_666_666_7) < 1e-9)
        #expect(gga.quality == 1 && gga.dilution == 0.9 && gga.altitude == 545.4 && gga.geoidSeparation == 46.9)
    }

    @Test func rmcContainsDateSpeedAndCourse() throws {
        guard case .rmc(let rmc) = try self.read("GPRMC,225446,A,4916.45,N,12311.12,W,010.0,054.7,191194,020.3,E")
        else {
            Issue.record("no RMC")
            return
        }
        #expect(rmc.isValid && rmc.course == 54.7)
        #expect(rmc.days == CivilTime.days(year: 1994, month: 11, day: 19))
        #expect(abs((rmc.speed ?? 0) - 5.144_444) < 1e-5)
        #expect((rmc.coordinate?.longitude ?? 0) < -123.18)
    }

    @Test(arguments: [("GPRMC,,V,,,,,,,,,,N", false), ("GPRMC,1,A,,,,,,,,,,A", true), ("GPRMC,1,A,,,,,,,,,,N", false)])
    func rmcSaysWhetherItIsValid(body: String, isValid: Bool) throws {
        guard case .rmc(let rmc) = try self.read(body) else {
            Issue.record("no RMC")
            return
        }
        #expect(rmc.isValid == isValid)
    }

    @Test(arguments: [("79", 2079), ("80", 1980), ("99", 1999), ("00", 2000), ("24", 2024)])
    func twoDigitsOfAYearAreThoseOfTheAgeOfGPS(digits: String, year: Int) {
        #expect(NMEAField(Array("0101\(digits)".utf8)[...]).days == CivilTime.days(year: year, month: 1, day: 1))
    }

    @Test(arguments: [
        "9060.0000,N,00000.0,E", "9100.0,N,00000.0,E", "5200.0,X,00800.0,E", "5200.0,N,18100.0,E",
        "nan,N,00800.0,E", "-5200.0,N,00800.0,E", "1e3,N,00800.0,E", "5200.0,N,,E",
    ])
    func aPlaceThatIsNoneIsUnknown(place: String) throws {
        guard case .gga(let gga) = try self.read("GPGGA,120000,\(place),1,08,0.9,1,M,1,M,,") else {
            Issue.record("no GGA")
            return
        }
        #expect(gga.coordinate == nil)
    }

    @Test(arguments: ["246000", "236000", "12345", "12:34:56", "235961"]) func aTimeThatIsNoneIsUnknown(time: String) {
        #expect(NMEAField(Array(time.utf8)[...]).time == nil)
    }

    @Test func vtgKnowsBothUnits() throws {
        guard case .vtg(let knots) = try self.read("GPVTG,77.5,T,93.3,M,5.2,N,9.7,K"),
            case .vtg(let kilometers) = try self.read("GPVTG,77.5,T,,M,,N,36.0,K")
        else {
            Issue.record("no VTG")
            return
        }
        #expect(abs((knots.speed ?? 0) - 2.675_111) < 1e-5 && knots.course == 77.5 && kilometers.speed == 10)
    }

    @Test func theChecksumIsVerified() {
        let good = Sentences.make("GPVTG,77.5,T,93.3,M,5.2,N,9.7,K")
        #expect(self.refusal(good) == nil)
        #expect(self.refusal(good + " ") == nil)
        #expect(self.refusal(good.replacing("77.5", with: "78.5")) == .wrongChecksum("GPVTG"))
        #expect(self.refusal(String(good.dropLast())) == .wrongChecksum("GPVTG"))
        #expect(self.refusal(String(good.dropLast(3))) == .withoutChecksum("GPVTG"))
        #expect(self.refusal("5.2,N,9.7,K*43") == .notNMEA)
        #expect(self.refusal("") == .notNMEA)
        #expect(self.refusal("$") == .notNMEA)
        #expect(self.refusal("\u{B5}b\u{1}\u{7}") == .notNMEA)
    }

    @Test func aSentenceThatBeginsWithinALineIsFound() throws {
        let line = "GPGSV,3,1$" + Sentences.make("GPGST,120000,1,,,,3.0,4.0,6.0").dropFirst()
        guard case .gst(let gst) = try NMEASentence(line: Array(line.utf8)[...]) else {
            Issue.record("no GST")
            return
        }
        #expect(gst.latitudeDeviation == 3 && gst.longitudeDeviation == 4 && gst.altitudeDeviation == 6)
    }

    @Test func proprietarySentencesAreNotTakenForOthers() throws {
        guard case .other("PQGGA", _) = try self.read("PQGGA,120000,5200.0,N,00800.0,E,1,08,0.9,1,M,1,M,,") else {
            Issue.record("taken for a GGA")
            return
        }
    }

    @Test(arguments: 1...200) func noBytesBreakIt(seed: UInt64) {
        var dice = Dice(seed)
        let body = Array(Sentences.epoch(3).randomElement(using: &dice)?.utf8 ?? "".utf8)
        var mangled = Array(body)
        for _ in 0..<Int.random(in: 0...6, using: &dice) {
            mangled[Int.random(in: 1..<mangled.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
        }
        // A good checksum lets the damage through to the fields.
        let inner = mangled.dropFirst().prefix { $0 != UInt8(ascii: "*") }
        let digits = String(NMEASentence.checksum(inner), radix: 16)
        let line = [UInt8(ascii: "$")] + inner + Array("*\(digits.count == 1 ? "0" : "")\(digits)".utf8)
        _ = try? NMEASentence(line: line[...])
        _ = try? NMEASentence(line: mangled[...])
    }
}
