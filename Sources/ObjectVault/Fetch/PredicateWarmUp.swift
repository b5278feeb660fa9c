// The Swift runtime finds a conformance by a scan of every loaded library, once for each generic type, and the types of a
// #Predicate are many: without this, the first one spends most of its time there. A sample of the common forms is compiled
// ahead, on another thread, while the first store opens; what is left of it are the types that this one predicate alone has.

internal import Foundation

// The task has no owner, and needs none: it runs once in a process, for some milliseconds, fills what the runtime
// and PredicateTemplate keep for the whole process, and has no store, file or result that anybody could wait for.
// Cancelled with the store that started it, it would leave the next store without what it is for.

enum PredicateWarmUp {
  /// Starts the look-ups, once in a process, and returns at once.
  static func start() { _ = once }

  private static let once: Void = { Task.detached(priority: .utility) { try? compileSamples() } }()

  private static func compileSamples() throws {
    let (low, high, half, text): (Int, Int?, Double, String) = (1, 2, 0.5, "a")
    let (date, flag, id, list) = (Date.distantPast, true, UUID(), [1, 2])
    let comparisons = #Predicate<Sample> {
      ($0.number > low && $0.amount < half) && ($0.text.contains(text) || !($0.text.starts(with: text)))
        && ($0.other?.text == text && $0.other?.optional != high)
    }
    let values = #Predicate<Sample> {
      $0.date > date && $0.flag == flag && $0.uuid == id && list.contains($0.number)
    }
    let objects = #Predicate<Sample> { $0.other == nil && $0.others.contains { $0.number == low } }
    let plans = FetchPlans(try SchemaMapping(Schema { Entity(Sample.self) }).entities[0])
    for predicate in [comparisons, values, objects] {
      var request = FetchParameters()
      request.conditions = [try PredicateTemplate.condition(of: predicate)]
      _ = try plans.compiled(.objects, request, in: .unknown)
    }
  }

  private final class Sample: ManagedObject {
    @Attribute var number = 0
    @Attribute var amount = 0.0
    @Attribute var text = ""
    @Attribute var optional: Int?
    @Attribute var date = Date.distantPast
    @Attribute var flag = false
    @Attribute var uuid = UUID()
    @ToOne var other: Sample?
    @ToMany(inverse: \Sample.other) var others: Set<Sample>
  }
}
