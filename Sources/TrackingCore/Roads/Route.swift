/// A route along roads from a position to one or more stops, as a routing engine answers it.
public struct Route: Hashable, Sendable {
    /// The part of a route that ends at one stop.
    public struct Leg: Hashable, Sendable {
        /// A part of a leg with a speed of its own, such as a street.
        public struct Section: Hashable, Sendable {
            /// The travel time of the section.
            public var duration: Duration
            /// The index of the section's last point in ``Leg/shape``. The section begins at the end of the one before.
            public var end: Int

            /// Makes a section from its travel time and the index of its last point.
            public init(duration: Duration, end: Int) {
                self.duration = duration
                self.end = end
            }
        }

        /// The travel time of the leg, > 0.
        public var duration: Duration
        /// The length of the leg along the road.
        public var length: Meters
        /// The line of the leg along the road, from the start of the leg to the stop at its end; at least two points.
        public var shape: [Coordinate]
        /// The parts of the leg with a speed of their own, in order. Empty for a leg with one speed.
        public var sections: [Section]

        /// Makes a leg from its travel time, its length, its way along the road and its sections.
        public init(duration: Duration, length: Meters, shape: [Coordinate], sections: [Section] = []) {
            self.duration = duration
            self.length = length
            self.shape = shape
            self.sections = sections
        }
    }

    /// The legs of the route, in the order of the stops.
    public var legs: [Leg]

    /// Makes a route from its legs, in the order of the stops.
    public init(legs: [Leg]) { self.legs = legs }
}

extension Route.Leg {
    /// The travel time from the start of the leg to each point of its shape, in seconds. Each section has one speed, and
    /// the whole leg takes ``duration``. Unusable sections count as one.
    var times: [Double] {
        var lengths = [0.0]
        for (start, end) in zip(self.shape, self.shape.dropFirst()) {
            lengths.append((lengths.last ?? 0) + start.distance(to: end).value)
        }
        let whole = Section(duration: self.duration, end: self.shape.count - 1)
        let times = Self.times(of: self.sections, lengths) ?? Self.times(of: [whole], lengths) ?? []
        guard let total = times.last, total > 0 else { return [Double](repeating: 0, count: self.shape.count) }
        return times.map { $0 * max(0, self.duration.inSeconds) / total }
    }

    /// Returns the time at each point of a way; `nil` for sections that do not cover the way.
    private static func times(of sections: [Section], _ lengths: [Double]) -> [Double]? {
        var times = [0.0]
        for section in sections {
            let (start, time) = (times.count - 1, times[times.count - 1])
            guard section.end >= start, section.end < lengths.count, section.duration >= .zero else { return nil }
            let length = lengths[section.end] - lengths[start]
            for index in start..<section.end {
                let fraction = length > 0 ? (lengths[index + 1] - lengths[start]) / length : 1
                times.append(time + fraction * section.duration.inSeconds)
            }
        }
        return times.count == lengths.count ? times : nil
    }
}
