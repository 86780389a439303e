SELECT bid, bbalance FROM pgbench_branches ORDER BY bid;
