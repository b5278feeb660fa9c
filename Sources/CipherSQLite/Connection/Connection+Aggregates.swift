// Aggregates and window functions as Swift closures over a state.

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
  sqlite3_user_data(context).map { Unmanaged<Aggregate>.fromOpaque($0).takeUnretainedValue() }
}

private func arguments(_ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) -> [SQLValue] {
  (0..<Int(count)).map { sqlValue(values?[$0]) }
}

/// The group's state, made at its first row. Eight bytes of SQLite's, zero at first, hold a retained reference,
/// which the final call releases: SQLite makes that call for every group that was begun.
private func state(_ context: OpaquePointer?, _ aggregate: Aggregate) -> GroupState? {
  let size = Int32(MemoryLayout<UnsafeMutableRawPointer?>.size)
  guard
    let slot = sqlite3_aggregate_context(context, size)?.assumingMemoryBound(
      to: UnsafeMutableRawPointer?.self)
  else { return nil }
  if let known = slot.pointee { return Unmanaged<GroupState>.fromOpaque(known).takeUnretainedValue() }
  let fresh = GroupState(aggregate.make())
  slot.pointee = Unmanaged.passRetained(fresh).toOpaque()
  return fresh
}

private let stepCallback:
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void = {
    context, count, values in
    guard let aggregate = aggregate(context), let state = state(context, aggregate) else { return }
    aggregate.step(&state.value, arguments(count, values))
  }

private let inverseCallback:
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void = {
    context, count, values in
    guard let aggregate = aggregate(context), let state = state(context, aggregate) else { return }
    aggregate.inverse(&state.value, arguments(count, values))
  }

private let valueCallback: @convention(c) (OpaquePointer?) -> Void = { context in
  guard let aggregate = aggregate(context) else { return }
  setSQLResult(aggregate.result(state(context, aggregate)?.value ?? aggregate.make()), in: context)
}

private let finalCallback: @convention(c) (OpaquePointer?) -> Void = { context in
  guard let aggregate = aggregate(context) else { return }
  // With no row there is no context: asking for 0 bytes tells.
  let slot = sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
  guard let known = slot?.pointee else {
    return setSQLResult(aggregate.result(aggregate.make()), in: context)
  }
  let state = Unmanaged<GroupState>.fromOpaque(known).takeRetainedValue()
  slot?.pointee = nil
  setSQLResult(aggregate.result(state.value), in: context)
}

private let destroyCallback: @convention(c) (UnsafeMutableRawPointer?) -> Void = { data in
  data.map { Unmanaged<Aggregate>.fromOpaque($0).release() }
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
    let handle = try opened()
    let box = Unmanaged.passRetained(Self.boxed(initial, step, { _, _ in }, result)).toOpaque()
    let code = sqlite3_create_function_v2(
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
    let handle = try opened()
    // Looked up by name: the older engine's headers and library have no such call.
    typealias Create =
      @convention(c) (
        OpaquePointer?, UnsafePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?,
        (@convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void)?,
        (@convention(c) (OpaquePointer?) -> Void)?, (@convention(c) (OpaquePointer?) -> Void)?,
        (@convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void)?,
        (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
      ) -> Int32
    let symbol = dlopen(nil, RTLD_NOW).flatMap { dlsym($0, "sqlite3_create_window_function") }
    guard let symbol, Engine.current.hasWindowFunctions else {
      throw SQLError.unsupported(feature: "window functions", engine: "\(Engine.current)")
    }
    // The type is the one that SQLite documents for this function, and has had since 3.25.
    let create = unsafeBitCast(symbol, to: Create.self)
    let box = Unmanaged.passRetained(Self.boxed(initial, step, inverse, result)).toOpaque()
    let code = create(
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
