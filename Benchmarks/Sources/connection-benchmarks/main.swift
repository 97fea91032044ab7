// The memory of an idle connection to the broker, including the kernel's share. One process makes 2,000 connections on
// one I/O thread, each with one subscription.

import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingMQTT

let connections = 2_000

/// The memory of this process and its sockets at one moment, in KiB.
struct Memory {
    /// The anonymous memory that the process has written to.
    var anonymous = KernelFiles.kibibytes("RssAnon", in: "/proc/self/status")
    /// The kernel's page tables for the process.
    var pageTables = KernelFiles.kibibytes("VmPTE", in: "/proc/self/status")
    /// The kernel's objects of which sockets consist, for all processes of the machine.
    var sockets = Memory.socketObjects()
    /// The buffers of all TCP sockets of the machine.
    var socketBuffers = Memory.socketBufferPages() * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_024

    /// Returns the size, in KiB, of the kernel's sockets with their inodes, directory entries and files, and of the
    /// records of epoll and the security modules about them. A line of slabinfo is: name, objects in use, all objects,
    /// bytes of each object …
    private static func socketObjects() -> Double {
        let names: Set<Substring> = [
            "TCP", "sock_inode_cache", "dentry", "filp", "eventpoll_epi", "eventpoll_pwq", "ep_head", "lsm_file_cache",
        ]
        let lines = KernelFiles.read("/proc/slabinfo").split(separator: "\n").map { $0.split(separator: " ") }
        return lines.reduce(0) { sum, line in
            guard line.count > 3, names.contains(line[0]), let count = Double(line[2]), let size = Double(line[3])
            else {
                return sum
            }
            return sum + count * size / 1_024
        }
    }

    private static func socketBufferPages() -> Double {
        for line in KernelFiles.read("/proc/net/sockstat").split(separator: "\n") where line.hasPrefix("TCP:") {
            return line.split(separator: " ").last.flatMap { Double($0) } ?? 0
        }
        return 0
    }
}

func makeTransport(_ number: Int, port: Int) throws -> MQTTTransport {
    let configuration = MQTTConfiguration(
        endpoints: [MQTTEndpoint(host: "127.0.0.1", port: port)], client: try ClientID("idle-\(number)"))
    return try MQTTTransport(configuration: configuration)
}

/// Handles the events of a connection: subscribes, reports once that the subscription is granted, and keeps the
/// connection open.
func read(_ transport: MQTTTransport, _ number: Int, ready: AsyncStream<Void>.Continuation) async {
    for await batch in transport.events { react(batch, transport, number, ready) }
}

/// Handles a batch of events. This is a function of its own, so that no event remains in the memory of the waiting
/// task.
func react(
    _ batch: [TransportEvent], _ transport: MQTTTransport, _ number: Int, _ ready: AsyncStream<Void>.Continuation
) {
    for event in batch {
        switch event {
        case .connected: transport.send([.subscribe(["tracking/idle-\(number)"], 1)])
        case .subscribed: ready.yield()
        case .disconnected(let disconnection):
            if let reason = disconnection.reason { print("connection \(number): \(reason)") }
        case .received, .published: break
        }
    }
}

/// Makes `count` connections, and returns the memory after the first of them and after all of them.
func measure(_ count: Int, port: Int) async throws -> (before: Memory, after: Memory) {
    let (readiness, ready) = AsyncStream.makeStream(of: Void.self)
    return try await withThrowingDiscardingTaskGroup { group in
        var arrivals = readiness.makeAsyncIterator()
        var before: Memory?
        for number in 0...count {
            let transport = try makeTransport(number, port: port)
            group.addTask { await transport.run() }
            group.addTask { await read(transport, number, ready: ready) }
            // The connections are made one after the other, so that the broker's queue of new connections never
            // overflows.
            _ = await arrivals.next()
            // The first connection creates what exists once: the thread of the loop and its buffers.
            if before == nil { before = Memory() }
        }
        try await Task.sleep(for: .seconds(2))
        let after = Memory()
        group.cancelAll()
        return (before ?? after, after)
    }
}

guard access("/proc/slabinfo", R_OK) == 0 else {
    throw BenchmarkError(
        "cannot read /proc/slabinfo, which has the kernel's memory for sockets. Run this benchmark as root")
}
// One open file for the socket of each connection, and two for libmosquitto.
try DescriptorLimit.raise(to: connections * 3 + 200)
let broker = try Broker()
let (before, after) = try await measure(connections, port: broker.port)
let each = { (amount: Double) in amount / Double(connections) }
let anonymous = each(after.anonymous - before.anonymous)
let tables = each(after.pageTables - before.pageTables)
// The broker runs on this machine. So half of the kernel's objects are the broker's ends of the connections.
let kernel = each(after.sockets - before.sockets + after.socketBuffers - before.socketBuffers) / 2

var report = Report()
report.measure("idle connection: the process's anonymous memory", anonymous, "KiB")
report.measure("idle connection: the kernel's objects, buffers and page tables", kernel + tables, "KiB")
report.measure(
    "idle connection of \(connections) on one I/O thread, all together", anonymous + tables + kernel, "KiB", .atMost(12)
)
if !report.isMet { exit(1) }
