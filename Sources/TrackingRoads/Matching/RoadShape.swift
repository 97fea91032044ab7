private import SystemLibrary
import TrackingCore

/// Geometry of a way along roads, which is a list of points.
enum RoadShape {
    /// Returns the segment of a shape that is nearest to a position: the index of the first point of the segment.
    ///
    /// - Parameters:
    ///   - coordinate: The position.
    ///   - shape: The points of the way.
    ///   - segments: The segments to search; not empty.
    static func nearestSegment(to coordinate: Coordinate, of shape: [Coordinate], in segments: Range<Int>) -> Int {
        var nearest = (segment: segments.lowerBound, distance: Double.infinity)
        for segment in segments {
            let distance = Self.squaredDistance(from: coordinate, to: shape[segment], shape[segment + 1])
            if distance < nearest.distance { nearest = (segment, distance) }
        }
        return nearest.segment
    }

    /// Returns the square of the distance from a position to a segment, in square degrees of latitude. The earth is
    /// taken as flat around the position.
    private static func squaredDistance(from place: Coordinate, to start: Coordinate, _ end: Coordinate) -> Double {
        let scale = cos(place.latitude * .pi / 180)
        let (startX, startY) = Self.plane(start, around: place, scale)
        let (endX, endY) = Self.plane(end, around: place, scale)
        let (x, y) = (endX - startX, endY - startY)
        let length = x * x + y * y
        let fraction = length > 0 ? max(0, min(1, -(startX * x + startY * y) / length)) : 0
        let (nearX, nearY) = (startX + fraction * x, startY + fraction * y)
        return nearX * nearX + nearY * nearY
    }

    /// Returns a position on a plane around another one, in degrees of latitude to the east and to the north.
    private static func plane(_ point: Coordinate, around place: Coordinate, _ scale: Double) -> (Double, Double) {
        var longitude = point.longitude - place.longitude
        if longitude > 180 { longitude -= 360 }
        if longitude < -180 { longitude += 360 }
        return (longitude * scale, point.latitude - place.latitude)
    }
}
