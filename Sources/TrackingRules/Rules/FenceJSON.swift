package import TrackingCore

extension Fence {
    /// A fence from what is kept or was sent: a circle as `{"center":[longitude,latitude],"radius":metres}`, or GeoJSON: a
    /// Polygon, a MultiPolygon, or a Feature or a FeatureCollection of these (RFC 7946).
    ///
    /// - Throws: `invalidConfiguration` that says what is not as it should be.
    package init(name: String, json: JSONValue) throws(TrackingError) {
        if let center = json["center"] {
            guard let center = center.place, let radius = json["radius"]?.number else {
                throw Self.error(name, "a circle is {\"center\":[longitude,latitude],\"radius\":metres}")
            }
            try self.init(name: name, shape: .circle(center: center, radius: Meters(radius)))
        } else {
            try self.init(name: name, shape: .polygons(try Self.areas(json, name)))
        }
    }

    /// The stored JSON object: see ``init(name:json:)``.
    package var json: JSONValue {
        switch self.shape {
        case .circle(let center, let radius):
            .object(["center": center.json, "radius": .number(radius.value)])
        case .polygons(let areas):
            .object([
                "type": .text("MultiPolygon"),
                "coordinates": .list(areas.map { .list($0.map { .list($0.map(\.json)) }) }),
            ])
        }
    }

    private static func areas(_ json: JSONValue, _ name: String) throws(TrackingError) -> [[[Coordinate]]] {
        switch json["type"]?.text {
        case "Polygon": return [try self.rings(json["coordinates"], name)]
        case "MultiPolygon":
            var areas: [[[Coordinate]]] = []
            for area in json["coordinates"]?.list ?? [] { areas.append(try self.rings(area, name)) }
            return areas
        case "Feature":
            guard let geometry = json["geometry"] else { throw self.error(name, "its Feature has no geometry") }
            return try self.areas(geometry, name)
        case "FeatureCollection":
            var areas: [[[Coordinate]]] = []
            for feature in json["features"]?.list ?? [] { areas += try self.areas(feature, name) }
            return areas
        case let type:
            throw self.error(
                name, "GeoJSON of a Polygon or a MultiPolygon is expected, not of \(type?.prefix(40) ?? "nothing")")
        }
    }

    private static func rings(_ json: JSONValue?, _ name: String) throws(TrackingError) -> [[Coordinate]] {
        guard let rings = json?.list else { throw self.error(name, "a polygon's coordinates are a list of rings") }
        var read: [[Coordinate]] = []
        for ring in rings {
            let places = ring.list?.map(\.place) ?? []
            guard !places.isEmpty, !places.contains(nil) else {
                throw self.error(name, "a ring is a list of [longitude,latitude], of -180 to 180 and -90 to 90")
            }
            read.append(places.compactMap { $0 })
        }
        return read
    }

    private static func error(_ name: String, _ what: String) -> TrackingError {
        TrackingError(.invalidConfiguration, "fence '\(name)': \(what)")
    }
}

extension JSONValue {
    /// A GeoJSON position. Members after the latitude are ignored.
    fileprivate var place: Coordinate? {
        guard let list = self.list, list.count >= 2, let longitude = list[0].number, let latitude = list[1].number
        else { return nil }
        return Coordinate(latitude: latitude, longitude: longitude)
    }
}

extension Coordinate {
    fileprivate var json: JSONValue { .list([.number(self.longitude), .number(self.latitude)]) }
}
