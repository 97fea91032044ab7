import TrackingCore

/// Writes GPX 1.1: one track with a segment for each uninterrupted piece. Speed and course are written in Garmin's
/// `TrackPointExtension` 2, because GPX 1.1 has no elements for them.
struct GPXWriter: PointWriter {
    private let name: String
    private var isSegmentOpen = false

    init(_ trackable: TrackableID) { self.name = xmlText(trackable.rawValue) }

    func begin() -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <gpx version="1.1" creator="godwit" xmlns="http://www.topografix.com/GPX/1/1" \
        xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2">
        <trk><name>\(self.name)</name>

        """
    }

    mutating func append(_ point: Location) -> [UInt8] {
        let start = self.isSegmentOpen ? "" : "<trkseg>\n"
        self.isSegmentOpen = true
        let place = point.coordinate
        // GPX does not permit the longitude 180.
        let longitude = place.longitude == 180 ? -180 : place.longitude
        var text = start + "<trkpt lat=\"\(place.latitude.decimal ?? "")\" lon=\"\(longitude.decimal ?? "")\">"
        if let altitude = point.altitude?.decimal { text += "<ele>\(altitude)</ele>" }
        text += "<time>\(ISO8601.text(point.time))</time>" + Self.extensions(of: point) + "</trkpt>\n"
        return Array(text.utf8)
    }

    mutating func interrupt() -> String {
        defer { self.isSegmentOpen = false }
        return self.isSegmentOpen ? "</trkseg>\n" : ""
    }

    mutating func finish() -> String { self.interrupt() + "</trk>\n</gpx>\n" }

    private static func extensions(of point: Location) -> String {
        let speed = point.speed?.decimal.map { "<gpxtpx:speed>\($0)</gpxtpx:speed>" } ?? ""
        let course = point.bearing?.decimal.map { "<gpxtpx:course>\($0)</gpxtpx:course>" } ?? ""
        guard !speed.isEmpty || !course.isEmpty else { return "" }
        return
            "<extensions><gpxtpx:TrackPointExtension>\(speed)\(course)</gpxtpx:TrackPointExtension></extensions>"
    }
}
