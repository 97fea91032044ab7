import TrackingCore

@testable import TrackingHistory

/// Decodes GeoJSON and Overland's batches. The result does not depend on how the bytes are divided.
func fuzzFeatures(_ bytes: [UInt8]) { checkPieces(bytes) { FeatureReader() } }

/// Decodes CSV. The result does not depend on how the bytes are divided.
func fuzzCSV(_ bytes: [UInt8]) { checkPieces(bytes) { CSVReader() } }

/// Decodes the files of the OwnTracks Recorder. The result does not depend on how the bytes are divided.
func fuzzOwnTracks(_ bytes: [UInt8]) { checkPieces(bytes) { OwnTracksReader() } }

/// Decodes the history files of Ably Asset Tracking. The result does not depend on how the bytes are divided.
func fuzzAbly(_ bytes: [UInt8]) { checkPieces(bytes) { AblyReader() } }
