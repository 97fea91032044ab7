package import TrackingCore

extension Fence {
    /// Creates a fence from JSON: a circle as `{"center":[longitude,latitude],"radius":metres}`, or GeoJSON (RFC 7946):
    /// a Polygon, a MultiPolygon, or a Feature or FeatureCollection of these. A Feature of a Point with the property
    /// `radius` is a circle too, as ``feature`` writes it.
    ///
    /// - Parameters:
    ///   - name: The name of the fence.
    ///   - json: The JSON object, as stored or as a client sent it.
    /// - Throws: `invalidConfiguration` that names the invalid part.
    package init(name: String, json: JSONValue) throws(TrackingError) {
        if let center = json["center"] {
            guard let center = center.place, let radius = json["radius"]?.number else {
                throw Self.error(
                    name, "a circle must have the form {\"center\":[longitude,latitude],\"radius\":metres}")
            }
            try self.init(name: name, shape: .circle(center: center, radius: Meters(radius)))
        } else if json["geometry"]?["type"]?.text == "Point" {
            guard let center = json["geometry"]?["coordinates"]?.place,
                let radius = json["properties"]?["radius"]?.number
            else {
                throw Self.error(
                    name,
                    "a circle must be a Feature of a Point [longitude,latitude] with the property radius, in metres")
            }
            try self.init(name: name, shape: .circle(center: center, radius: Meters(radius)))
        } else {
            try self.init(name: name, shape: .polygons(try Self.areas(json, name)))
        }
    }

    /// The fence as a GeoJSON Feature that ``init(name:json:)`` reads: polygons unchanged, and a circle as its centre
    /// with the property `radius`, in metres.
    package var feature: JSONValue {
        var properties: [String: JSONValue] = ["name": .text(self.name)]
        var geometry = self.json
        if case .circle(_, let radius) = self.shape, let center = self.json["center"] {
            properties["radius"] = .number(radius.value)
            geometry = .object(["type": .text("Point"), "coordinates": center])
        }
        return .object([
            "type": .text("Feature"), "id": .text(self.name), "geometry": geometry, "properties": .object(properties),
        ])
    }

    /// The fence as a JSON object that ``init(name:json:)`` reads.
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
            guard let geometry = json["geometry"] else { throw self.error(name, "the GeoJSON Feature has no geometry") }
            return try self.areas(geometry, name)
        case "FeatureCollection":
            var areas: [[[Coordinate]]] = []
            for feature in json["features"]?.list ?? [] { areas += try self.areas(feature, name) }
            return areas
        case let type:
            throw self.error(
                name,
                "the GeoJSON type must be Polygon, MultiPolygon, Feature or FeatureCollection, not \(type?.prefix(40) ?? "nothing")"
            )
        }
    }

    private static func rings(_ json: JSONValue?, _ name: String) throws(TrackingError) -> [[Coordinate]] {
        guard let rings = json?.list else {
            throw self.error(name, "the coordinates of a polygon must be a list of rings")
        }
        var read: [[Coordinate]] = []
        for ring in rings {
            let places = ring.list?.map(\.place) ?? []
            guard !places.isEmpty, !places.contains(nil) else {
                throw self.error(
                    name, "the ring of a polygon must be a list of [longitude,latitude], -180 to 180 and -90 to 90")
            }
            read.append(places.compactMap { $0 })
        }
        return read
    }

    private static func error(_ name: String, _ what: String) -> TrackingError {
        TrackingError(.invalidConfiguration, "cannot use fence '\(name)': \(what)")
    }
}

extension JSONValue {
    /// The coordinate of a GeoJSON position (`[longitude,latitude,…]`); `nil` for any other JSON value. Numbers after
    /// the latitude are ignored.
    fileprivate var place: Coordinate? {
        guard let list = self.list, list.count >= 2, let longitude = list[0].number, let latitude = list[1].number
        else { return nil }
        return Coordinate(latitude: latitude, longitude: longitude)
    }
}

extension Coordinate {
    fileprivate var json: JSONValue { .list([.number(self.longitude), .number(self.latitude)]) }
}
