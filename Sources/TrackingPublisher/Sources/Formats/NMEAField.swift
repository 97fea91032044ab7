import TrackingCore

/// A time of day of an NMEA sentence, to the millisecond.
struct NMEATime: Hashable, Sendable {
    /// The time of day in milliseconds since midnight UTC. It is below 86,401,000, which includes a leap second.
    let milliseconds: Int

    /// The time of day in seconds since midnight UTC.
    var seconds: Double { Double(self.milliseconds) / 1000 }
}

/// The text of one field of an NMEA sentence.
struct NMEAField: Sendable {
    private let bytes: ArraySlice<UInt8>

    /// Makes a field from its bytes, which are between two commas of the sentence.
    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// `true` when the field of the NMEA sentence is empty, that is, nothing is between its commas.
    var isEmpty: Bool { self.bytes.isEmpty }

    /// The characters of the field.
    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// The field as a plain decimal number; `nil` for any other text. Exponents, `inf` and `nan`, which Swift would
    /// accept, also give `nil`.
    var number: Double? {
        guard !self.bytes.isEmpty, self.bytes.count <= 24,
            self.bytes.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E || $0 == 0x2D || $0 == 0x2B })
        else { return nil }
        return Double(self.text)
    }

    /// The field as a decimal number of 0 or more; `nil` for a negative number or other text.
    var magnitude: Double? { self.number.flatMap { $0 >= 0 ? $0 : nil } }

    /// The field as a whole number of up to nine characters, a sign included; `nil` for any other text.
    var integer: Int? { self.bytes.count <= 9 ? Int(self.text) : nil }

    /// The field as a time of day in the form `hhmmss`, with or without a fraction; `nil` for any other text.
    var time: NMEATime? {
        var scanner = DigitScanner(self.bytes)
        guard let hour = scanner.digits(2), let minute = scanner.digits(2), let second = scanner.digits(2),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let fraction = scanner.take(".") ? scanner.fraction() ?? 0 : 0
        guard scanner.isAtEnd else { return nil }
        return NMEATime(
            milliseconds: (hour * 3600 + minute * 60 + second) * 1000 + min(999, Int((fraction * 1000).rounded())))
    }

    /// The date in the field, in the form `ddmmyy`, as days since 1970-01-01; `nil` for any other text. The years 80…99
    /// belong to the last century, because GPS time began in 1980.
    var days: Int? {
        var scanner = DigitScanner(self.bytes)
        guard let day = scanner.digits(2), let month = scanner.digits(2), let year = scanner.digits(2), scanner.isAtEnd
        else { return nil }
        return CivilTime.days(year: year < 80 ? 2000 + year : 1900 + year, month: month, day: day)
    }

    /// Returns the latitude or longitude in this field (`ddmm.mmmm` or `dddmm.mmmm`) in degrees; `nil` if it is
    /// invalid. The field `hemisphere` decides the sign: north and east are positive.
    func degrees(positive: String, negative: String, hemisphere: NMEAField) -> Double? {
        guard let value = self.magnitude, value < 100_000 else { return nil }
        let whole = (value / 100).rounded(.down)
        let minutes = value - whole * 100
        guard minutes < 60 else { return nil }
        switch hemisphere.text {
        case positive: return whole + minutes / 60
        case negative: return -(whole + minutes / 60)
        default: return nil
        }
    }
}

extension [NMEAField] {
    /// Returns the field of an NMEA sentence at this index, or an empty field if the sentence has fewer fields. Index 0
    /// is the address, such as `GPGGA`.
    func at(_ index: Int) -> NMEAField { index < self.count ? self[index] : NMEAField([]) }

    /// Returns the coordinate in the four fields that begin at this index: latitude, hemisphere, longitude, hemisphere.
    /// `nil` if one of them is empty or invalid.
    func coordinate(at index: Int) -> Coordinate? {
        guard
            let latitude = self.at(index).degrees(positive: "N", negative: "S", hemisphere: self.at(index + 1)),
            let longitude = self.at(index + 2).degrees(positive: "E", negative: "W", hemisphere: self.at(index + 3))
        else { return nil }
        return Coordinate(latitude: latitude, longitude: longitude)
    }
}
