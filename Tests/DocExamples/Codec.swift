import TrackingCore

func publishedAndRead(at time: UnixTime) throws -> LocationUpdate? {
    guard let place = Coordinate(latitude: 52.63, longitude: -8.66) else { return nil }
    var fix = Location(coordinate: place, time: time)
    fix.speed = 12.5
    let payload = try LocationCodec.encode(LocationUpdate(location: fix))
    return try LocationCodec.decode(payload)
}
