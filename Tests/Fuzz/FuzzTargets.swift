import Foundation

/// The entry point for libFuzzer. It runs the target that the environment names. All targets share one program, so that
/// the library is compiled once.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target(Array(UnsafeBufferPointer(start: data, count: count)))
    return 0
}

private let target: @Sendable ([UInt8]) -> Void = {
    switch ProcessInfo.processInfo.environment["FUZZ_TARGET"] {
    case "location": fuzzLocation
    case "messages": fuzzMessages
    case "commands": fuzzCommands
    case "topic": fuzzTopic
    case "token": fuzzToken
    case "packets": fuzzPackets
    case "nmea": fuzzNMEA
    case "gpsd": fuzzGPSD
    case "dbus": fuzzDBus
    case "gpx": fuzzGPX
    case "features": fuzzFeatures
    case "csv": fuzzCSV
    case "ably": fuzzAbly
    case "owntracks": fuzzOwnTracks
    case "overland": fuzzOverland
    case "owntracks-app": fuzzOwnTracksApp
    case "nextbillion": fuzzNextBillion
    case "points": fuzzPoints
    case let other: preconditionFailure("FUZZ_TARGET names no target: \(other ?? "it is not set")")
    }
}()
