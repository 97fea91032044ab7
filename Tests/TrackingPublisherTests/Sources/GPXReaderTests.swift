import TestSupport
import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct GPXReaderTests {
    private static let track = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE gpx>
        <!-- a <trkpt> in a comment -- is none -->
        <gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1" creator='a "quoted" > one' xmlns:g="urn:g">
          <metadata><time>2019-02-18T07:45:50Z</time></metadata>
          <wpt lat="1" lon="2"><time>2019-02-18T07:45:50Z</time></wpt>
          <rte><rtept lat="1" lon="2"/></rte>
          <trk><name>A &amp; B &#x263A; &unknown; <![CDATA[ <trkpt lat="9" lon="9"> ]]></name><trkseg>
            <trkpt lat="52.6291510" lon="-8.6617460">
              <ele>19.5</ele><geoidheight>57.5</geoidheight><time> 2019-02-18T07:45:50Z
              </time><hdop>2</hdop><vdop>3</vdop><speed>4.5</speed><course>-10</course></trkpt>
            <trkpt lon=' -8.66' lat='52.62 '><time>2019-02-18T07:45:51.25Z</time>
              <extensions><g:TrackPointExtension><g:speed>5</g:speed><g:course>90</g:course></g:TrackPointExtension></extensions></trkpt>
            <trkpt lat="52.62" lon="-8.66"/>
            <trkpt lat="152.62" lon="-8.66"><time>2019-02-18T07:45:52Z</time></trkpt>
            <trkpt lat="52.62"><time>2019-02-18T07:45:52Z</time></trkpt>
            <trkpt lat="52.62" lon="-8.66"><ele>nan</ele><speed>-1</speed><time>2019-02-18T07:45:53Z</time></trkpt>
          </trkseg></trk>
        </gpx>

        """

    private func read(_ pieces: [ArraySlice<UInt8>]) -> (events: [SourceEvent], failure: TrackingError?) {
        var reader = GPXReader()
        let events = pieces.flatMap { reader.append($0) } + reader.finish()
        return (events, reader.failure)
    }

    private func read(_ text: String) -> (events: [SourceEvent], failure: TrackingError?) {
        self.read([Array(text.utf8)[...]])
    }

    private func point(_ children: String, before: String = "") -> Location? {
        let text =
            "\(before)<gpx><trk><trkseg><trkpt lat=\"1\" lon=\"2\"><time>2021-06-01T10:00:06Z</time>\(children)</trkpt>"
            + "</trkseg></trk></gpx>"
        // However it is cut.
        let (whole, cut) = (self.read(text), self.read(text.utf8.map { [$0][...] }))
        #expect(whole.events == cut.events && whole.failure == nil && cut.failure == nil, "\(whole) \(cut)")
        return whole.events.fixes.first
    }

    @Test func whatIsUnknownStaysUnknown() {
        let standing = self.point("<speed>0</speed><course>90</course>")
        #expect(standing?.speed == 0 && standing?.bearing == nil)
        for dilution in ["0", "99.99"] {
            let fix = self.point("<hdop>\(dilution)</hdop><vdop>\(dilution)</vdop>")
            #expect(fix != nil && fix?.accuracyHorizontal == nil && fix?.accuracyVertical == nil)
        }
    }

    @Test(arguments: [
        "<!DOCTYPE gpx>", "<!DOCTYPE gpx SYSTEM \"a>b\">", "<!DOCTYPE gpx [ <!ENTITY name \"x\"> ]>",
        "<!DOCTYPE gpx [\n<!-- it's > ] none --><!ENTITY a ']>'><?p ' ] > ?><!ELEMENT gpx ANY>] >",
    ])
    func aDocumentTypeIsPassedOver(doctype: String) {
        #expect(self.point("", before: "<?xml version=\"1.0\"?>\n\(doctype)\n") != nil)
    }

    @Test func aCDATASectionIsText() {
        let text =
            "<gpx><trk><trkseg><trkpt lat=\"1\" lon=\"2\"><ele>1<![CDATA[9.]]>5</ele>"
            + "<time><![CDATA[2021-06-01T10:00:06Z]]></time></trkpt></trkseg></trk></gpx>"
        for pieces in [[Array(text.utf8)[...]], text.utf8.map { [$0][...] }] {
            let (events, failure) = self.read(pieces)
            guard failure == nil, case .fix(let fix) = events.first else {
                Issue.record("\(events) \(failure.map { "\($0)" } ?? "")")
                continue
            }
            #expect(fix.altitude == 19.5 && fix.time == UnixTime(1_622_541_606))
        }
    }

    @Test func aFileOfPlacesAloneSaysSo() {
        let (events, failure) = self.read(
            "<gpx><wpt lat=\"1\" lon=\"2\"/><rte><rtept lat=\"1\" lon=\"2\"/></rte></gpx>")
        #expect(failure == nil)
        #expect(
            events == [
                .badInput("the GPX file has no track, only 2 waypoints or route points without times")
            ])
        #expect(self.read("<gpx></gpx>").events.isEmpty)
    }

    @Test func trackPointsAreReadAndOthersRefusedByNumber() throws {
        let (events, failure) = self.read(Self.track)
        #expect(failure == nil)
        #expect(
            events.filter { if case .badInput = $0 { true } else { false } } == [
                .badInput("track point 3 has no valid time"), .badInput("track point 4 has no valid position"),
                .badInput("track point 5 has no valid position"),
            ])
        let fixes = events.fixes
        #expect(fixes.count == 3)
        #expect(fixes[0].coordinate == Coordinate(latitude: 52.6291510, longitude: -8.6617460))
        #expect(fixes[0].time == .at("2019-02-18T07:45:50Z") && fixes[0].altitude == 77)
        #expect(fixes[0].speed == 4.5 && fixes[0].bearing == 350)
        #expect(fixes[0].accuracyHorizontal == 1.0675 * 10 && fixes[0].accuracyVertical == 15)
        #expect(fixes[1].time == .at("2019-02-18T07:45:51.25Z") && fixes[1].speed == 5 && fixes[1].bearing == 90)
        #expect(fixes[2].altitude == nil && fixes[2].speed == nil)
    }

    @Test func extensionsSupplyNoTimePositionOrAltitude() {
        let text = """
            <gpx><extensions><trkpt lat="7" lon="7"><time>2019-02-18T01:00:00Z</time></trkpt></extensions>
            <trk><trkseg><trkpt lat="1" lon="2"><ele>10</ele><time>2019-02-18T07:45:50Z</time><extensions>
            <x:time>2001-01-01T00:00:00Z</x:time><x:ele>999</x:ele><x:geoidheight>5</x:geoidheight><x:hdop>9</x:hdop>
            <extensions><trkpt lat="8" lon="8"><time>2002-01-01T00:00:00Z</time></trkpt></extensions>
            <x:ele>998</x:ele><x:speed>3</x:speed></extensions><link><time>2003-01-01T00:00:00Z</time></link></trkpt>
            <trkpt lat="1" lon="3"><time>2019-02-18T07:45:51Z</time></trkpt></trkseg></trk></gpx>
            """
        let (events, failure) = self.read(text)
        #expect(failure == nil && events.count == 2)
        #expect(events.fixes.map(\.time) == [.at("2019-02-18T07:45:50Z"), .at("2019-02-18T07:45:51Z")])
        #expect(events.fixes.map(\.coordinate.longitude) == [2, 3])
        #expect(events.fixes.first?.altitude == 10 && events.fixes.first?.speed == 3)
        #expect(events.fixes.first?.accuracyHorizontal == nil)
    }

    @Test func aReferenceThatIsCutIsStillRead() {
        let text = #"<gpx><trkpt lat="1" lon="2"><time>2019-02-18T07:45:5&#48;Z</time></trkpt></gpx>"#
        let (events, failure) = self.read(Array(text.utf8).map { [$0] })
        #expect(failure == nil)
        #expect(events.fixes.map(\.time) == [.at("2019-02-18T07:45:50Z")])
    }

    @Test func whereItIsBrokenDoesNotDependOnThePieces() {
        let text = "\n\n\n x<gpx/>"
        #expect(
            self.read(text).failure?.message
                == "the input is not well-formed GPX: line 4: there is text outside of the root element"
        )
        #expect(self.read(Array(text.utf8).map { [$0] }).failure == self.read(text).failure)
    }

    @Test func figuresThatOverflowAreUnknown() {
        let text = """
            <gpx><trkpt lat="1" lon="2"><time>2019-02-18T07:45:50Z</time><ele>1e308</ele><geoidheight>1e308</geoidheight>\
            <hdop>1e308</hdop><vdop>1e308</vdop></trkpt></gpx>
            """
        let fix = self.read(text).events.fixes.first
        #expect(fix != nil)
        #expect(fix?.altitude == nil && fix?.accuracyHorizontal == nil && fix?.accuracyVertical == nil)
    }

    @Test(arguments: Seeds.first(100)) func thePiecesDoNotMatter(seed: UInt64) {
        var dice = Dice(seed)
        let bytes = Array(Self.track.utf8)
        #expect(self.read(dice.pieces(of: bytes, upTo: 40)).events == self.read(Self.track).events)
        #expect(self.read(dice.pieces(of: bytes, upTo: 1)).events == self.read(Self.track).events)
    }

    @Test func aByteOrderMarkIsPassedOver() {
        let bytes = [0xEF, 0xBB, 0xBF] + Array(Self.track.utf8)
        #expect(self.read([bytes[...]]).events == self.read(Self.track).events)
    }

    @Test func otherEncodingsAreSaid() {
        let bytes: [UInt8] = [0xFF, 0xFE, UInt8(ascii: "<"), 0, UInt8(ascii: "g"), 0]
        #expect(
            self.read([bytes[...]]).failure?.message
                == "the input is not well-formed GPX: line 1: the encoding is not UTF-8")
    }

    @Test(arguments: [
        ("", "the input is not GPX: it has no gpx element"), ("  \n", "the input is not GPX: it has no gpx element"),
        ("<kml></kml>", "the input is not well-formed GPX: line 1: the root element is not gpx"),
        ("hello", "the input is not well-formed GPX: line 1: there is text outside of the root element"),
        ("<gpx>\n</trk></gpx>", "the input is not well-formed GPX: line 2: an end tag does not match its start tag"),
        ("<gpx><trkpt lat=5></trkpt></gpx>", "the input is not well-formed GPX: line 1: a tag is not well-formed"),
        ("<gpx></gpx><gpx/>", "the input is not well-formed GPX: line 1: there is a second root element"),
        (
            "<gpx><a b=\"" + String(repeating: "x", count: 70_000),
            "the input is not well-formed GPX: line 1: a tag is longer than 65536 bytes"
        ),
        (
            String(repeating: "<gpx>", count: 65),
            "the input is not well-formed GPX: line 1: elements are nested too deeply"
        ),
    ])
    func whatIsNoGPXIsSaid(text: String, message: String) {
        let (events, failure) = self.read(text)
        #expect(failure?.message == message && failure?.code == .inputUnreadable)
        #expect(events.isEmpty)
    }

    @Test func whatCameBeforeTheFaultWasGiven() {
        let (events, failure) = self.read(Self.track.replacing("</trkseg></trk>", with: "</trkseg></oops>"))
        #expect(events.fixes.count == 3 && failure != nil)
    }

    @Test func aRecordingThatBreaksOffIsReadAsFarAsItGoes() {
        let end = Self.track.firstRange(of: "<trkpt lat=\"152")?.lowerBound ?? Self.track.endIndex
        let (events, failure) = self.read(String(Self.track[..<end]))
        #expect(failure == nil && events.fixes.count == 2)
        #expect(events.last == .badInput("the GPX file ends unexpectedly after track point 3"))
    }

    @Test func memoryStaysBoundedWhateverIsSent() {
        var reader = GPXReader()
        _ = reader.append(Array("<gpx><!-- ".utf8)[...])
        let filler = [UInt8](repeating: UInt8(ascii: "-"), count: 50_000)[...]
        for _ in 0..<10 { #expect(reader.append(filler).isEmpty) }
        #expect(reader.append(Array(">".utf8)[...]).isEmpty)
        #expect(reader.append(Array("<trkpt lat='1' lon='2'><time>".utf8)[...]).isEmpty)
        for _ in 0..<10 { #expect(reader.append(filler).isEmpty) }
        #expect(
            reader.append(Array("</time></trkpt></gpx>".utf8)[...]) == [.badInput("track point 1 has no valid time")])
        #expect(reader.failure == nil)
    }

    @Test(arguments: Seeds.first(200)) func noBytesBreakIt(seed: UInt64) {
        var dice = Dice(seed)
        var bytes = Array(Self.track.utf8)
        for _ in 0..<Int.random(in: 1...8, using: &dice) {
            let index = Int.random(in: 0..<bytes.count, using: &dice)
            bytes[index] = [UInt8](arrayLiteral: 0, 255, 60, 62, 34, 38, 47, 33, 45).randomElement(using: &dice) ?? 0
        }
        _ = self.read(dice.pieces(of: bytes))
    }
}
