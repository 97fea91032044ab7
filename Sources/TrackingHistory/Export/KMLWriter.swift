import TrackingCore

/// Writes KML 2.2: a Placemark for each uninterrupted piece of the track, made of `gx:Track`s.
///
/// A `gx:Track` has all its times before all its positions, so the writer holds its points in memory. Therefore a long
/// piece consists of several `gx:Track`s in one `gx:MultiTrack`, and viewers connect them. If a point of a `gx:Track`
/// has no altitude, the whole `gx:Track` is drawn on the ground.
struct KMLWriter: PointWriter {
    private let name: String
    private var piece = TrackPiece()
    private var isPlacemarkOpen = false

    init(_ trackable: TrackableID) { self.name = xmlText(trackable.rawValue) }

    func begin() -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2">
        <Document><name>\(self.name)</name>

        """
    }

    mutating func append(_ point: Location) -> [UInt8] {
        guard let points = self.piece.append(point) else { return [] }
        return Array(self.track(points).utf8)
    }

    mutating func interrupt() -> String {
        let rest = self.piece.finish(hasGiven: self.isPlacemarkOpen).map { self.track($0) } ?? ""
        defer { self.isPlacemarkOpen = false }
        return rest + (self.isPlacemarkOpen ? "</gx:MultiTrack></Placemark>\n" : "")
    }

    mutating func finish() -> String { self.interrupt() + "</Document>\n</kml>\n" }

    private mutating func track(_ points: [Location]) -> String {
        var text = ""
        if !self.isPlacemarkOpen {
            text += "<Placemark><name>\(self.name)</name><gx:MultiTrack><gx:interpolate>1</gx:interpolate>\n"
            self.isPlacemarkOpen = true
        }
        let isAltitudeKnown = points.allSatisfy { $0.altitude?.isFinite == true }
        text += "<gx:Track><altitudeMode>\(isAltitudeKnown ? "absolute" : "clampToGround")</altitudeMode>\n"
        for point in points { text += "<when>\(ISO8601.text(point.time))</when>\n" }
        for point in points { text += "<gx:coord>\(Self.coordinates(of: point))</gx:coord>\n" }
        return text + "</gx:Track>\n"
    }

    private static func coordinates(of point: Location) -> String {
        let place = point.coordinate
        return [place.longitude.decimal ?? "", place.latitude.decimal ?? "", point.altitude?.decimal ?? "0"]
            .joined(separator: " ")
    }
}
