// Aggregates and window functions as Swift closures over a state.
//
// The engine holds one reference of the closures, from register to destroyCallback, and one of the state of each group,
// from its first row to finalCallback. Whatever else it hands to a callback is lent for that call.

private import CSQLCipher
private import Foundation

/// One aggregate: how its state begins, takes a row in, and becomes a value.
private final class Aggregate {
  let make: () -> Any
  let step: (inout Any, [SQLValue]) -> Void
  let inverse: (inout Any, [SQLValue]) -> Void
  let result: (Any) -> SQLValue

  init(
    make: @escaping () -> Any, step: @escaping (inout Any, [SQLValue]) -> Void,
    inverse: @escaping (inout Any, [SQLValue]) -> Void, result: @escaping (Any) -> SQLValue
  ) {
    self.make = make
    self.step = step
    self.inverse = inverse
    self.result = result
  }
}

// The state of one group, in a box that SQLite's aggregate context points to.
private final class GroupState {
  var value: Any
  init(_ value: Any) { self.value = value }
}

private func aggregate(_ context: OpaquePointer?) -> Aggregate? {
  unsafe sqlite3_user_data(context).map { unsafe Unmanaged<Aggregate>.fromOpaque($0).takeUnretainedValue() }
}

private func arguments(_ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) -> [SQLValue] {
  (0..<Int(count)).map { unsafe sqlValue(values?[$0]) }
}

/// The group's state, made at its first row. Eight bytes of SQLite's, zero at first, hold a retained reference,
/// which the final call releases: SQLite makes that call for every group that was begun.
private func state(_ context: OpaquePointer?, _ aggregate: Aggregate) -> GroupState? {
  let size = unsafe Int32(MemoryLayout<UnsafeMutableRawPointer?>.size)
  guard
    let slot = unsafe sqlite3_aggregate_context(context, size)?.assumingMemoryBound(
      to: UnsafeMutableRawPointer?.self)
  else { return nil }
  if let known = unsafe slot.pointee {
    return unsafe Unmanaged<GroupState>.fromOpaque(known).takeUnretainedValue()
  }
  let fresh = GroupState(aggregate.make())
  unsafe slot.pointee = unsafe Unmanaged.passRetained(fresh).toOpaque()
  return fresh
}

private let stepCallback:
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void = {
    context, count, values in
    guard let aggregate = unsafe aggregate(context), let state = unsafe state(context, aggregate) else {
      return
    }
    unsafe aggregate.step(&state.value, arguments(count, values))
  }

private let inverseCallback:
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void = {
    context, count, values in
    guard let aggregate = unsafe aggregate(context), let state = unsafe state(context, aggregate) else {
      return
    }
    unsafe aggregate.inverse(&state.value, arguments(count, values))
  }

private let valueCallback: @convention(c) (OpaquePointer?) -> Void = { context in
  guard let aggregate = unsafe aggregate(context) else { return }
  unsafe setSQLResult(aggregate.result(state(context, aggregate)?.value ?? aggregate.make()), in: context)
}

private let finalCallback: @convention(c) (OpaquePointer?) -> Void = { context in
  guard let aggregate = unsafe aggregate(context) else { return }
  // With no row there is no context: asking for 0 bytes tells.
  let slot = unsafe sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(
    to: UnsafeMutableRawPointer?.self)
  guard let known = unsafe slot?.pointee else {
    return unsafe setSQLResult(aggregate.result(aggregate.make()), in: context)
  }
  let state = unsafe Unmanaged<GroupState>.fromOpaque(known).takeRetainedValue()
  unsafe slot?.pointee = nil
  unsafe setSQLResult(aggregate.result(state.value), in: context)
}

private let destroyCallback: @convention(c) (UnsafeMutableRawPointer?) -> Void = { data in
  unsafe data.map { unsafe Unmanaged<Aggregate>.fromOpaque($0).release() }
}

extension Connection {
  /// Registers an aggregate, for `SELECT name(x) … GROUP BY …`.
  ///
  /// ```swift
  /// try connection.register(
  ///   aggregate: "product", argumentCount: 1, initial: 1.0
  /// ) { state, arguments in
  ///   state *= arguments[0].double ?? 1
  /// } result: { .real($0) }
  /// ```
  /// - Parameters:
  ///   - name: Its name in SQL.
  ///   - argumentCount: How many arguments it takes; -1 for any number.
  ///   - initial: The state of each group before its first row.
  ///   - step: Takes a row into the state.
  ///   - result: The value of a group; of the initial state for no row.
  public func register<State>(
    aggregate name: String, argumentCount: Int, initial: State,
    step: @escaping (inout State, [SQLValue]) -> Void, result: @escaping (State) -> SQLValue
  ) throws {
    let handle = try unsafe opened()
    let box = unsafe Unmanaged.passRetained(Self.boxed(initial, step, { _, _ in }, result)).toOpaque()
    let code = unsafe sqlite3_create_function_v2(
      handle, name, Int32(argumentCount), SQLITE_UTF8 | SQLITE_DETERMINISTIC, box, nil, stepCallback,
      finalCallback, destroyCallback)
    guard code == SQLITE_OK else { throw error(code, sql: "") }
  }

  /// Registers an aggregate that is a window function too, for `name(x) OVER (…)`.
  ///
  /// - Parameters:
  ///   - name: Its name in SQL.
  ///   - argumentCount: How many arguments it takes; -1 for any number.
  ///   - initial: The state before the first row.
  ///   - step: Takes a row into the state.
  ///   - inverse: Takes a row that leaves the window out of the state again.
  ///   - result: The value of a state.
  /// - Throws: ``SQLError/unsupported(feature:engine:)`` where ``Engine/hasWindowFunctions`` is false.
  public func register<State>(
    window name: String, argumentCount: Int, initial: State,
    step: @escaping (inout State, [SQLValue]) -> Void, inverse: @escaping (inout State, [SQLValue]) -> Void,
    result: @escaping (State) -> SQLValue
  ) throws {
    let handle = try unsafe opened()
    // Looked up by name: the older engine's headers and library have no such call.
    typealias Create =
      @convention(c) (
        OpaquePointer?, UnsafePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?,
        (@convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void)?,
        (@convention(c) (OpaquePointer?) -> Void)?, (@convention(c) (OpaquePointer?) -> Void)?,
        (@convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void)?,
        (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
      ) -> Int32
    let symbol = unsafe dlopen(nil, RTLD_NOW).flatMap { unsafe dlsym($0, "sqlite3_create_window_function") }
    guard let symbol = unsafe symbol, Engine.current.hasWindowFunctions else {
      throw SQLError.unsupported(feature: "window functions", engine: "\(Engine.current)")
    }
    // The type is the one that SQLite documents for this function, and has had since 3.25.
    let create = unsafe unsafeBitCast(symbol, to: Create.self)
    let box = unsafe Unmanaged.passRetained(Self.boxed(initial, step, inverse, result)).toOpaque()
    let code = unsafe create(
      handle, name, Int32(argumentCount), SQLITE_UTF8 | SQLITE_DETERMINISTIC, box, stepCallback,
      finalCallback,
      valueCallback, inverseCallback, destroyCallback)
    guard code == SQLITE_OK else { throw error(code, sql: "") }
  }

  private static func boxed<State>(
    _ initial: State, _ step: @escaping (inout State, [SQLValue]) -> Void,
    _ inverse: @escaping (inout State, [SQLValue]) -> Void, _ result: @escaping (State) -> SQLValue
  ) -> Aggregate {
    func changed(_ any: inout Any, _ values: [SQLValue], _ body: (inout State, [SQLValue]) -> Void) {
      guard var state = any as? State else { return }
      body(&state, values)
      any = state
    }
    return Aggregate(
      make: { initial }, step: { changed(&$0, $1, step) }, inverse: { changed(&$0, $1, inverse) },
      result: { ($0 as? State).map(result) ?? .null })
  }
}
