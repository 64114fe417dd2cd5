"""The engine under the compiler: forward and backward pass traced once, environments kept apart in the traced graph.

`Agreement.compile` is its door. Dynamo captures the losses' function and guards what it saw; AOTAutograd traces forward and
backward pass into one functional graph; there

1. `marks` say which inputs are by rows and where the losses are;
2. `analysis` finds how every value depends on rows, by the tables of `tables`: what no table names mixes rows, and is refused;
3. `rewriting` finds for each parameter the sums over rows that its gradient is made of, and replaces them and all that is
   linear behind them by one operation (`operation`), whose argument is the text of that small graph (`plan`);
4. `backends` hand the graph on, to Inductor or to no compiler.

What is refused is served by the eager engine, `mechlearn.agreement.engine`: exact for every graph.
"""
